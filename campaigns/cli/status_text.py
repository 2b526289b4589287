"""A campaign's status as text, the same on a terminal, in a log and in a file."""

from collections.abc import Iterator

from campaigns.command_text import command_text
from campaigns.duration import duration
from campaigns.pluralise import pluralise
from campaigns.results.status import FINAL_STATES, NOBODY_SENDS, CampaignStatus
from engine.core.states import CampaignState, RecipientState


def audience_sum(rows: int, recipients: int, rejected: int, duplicates: int) -> str:
    """How the rows of the file add up."""
    return (
        f"{pluralise(rows, 'row')} = {pluralise(recipients, 'recipient')} + {rejected:,} rejected"
        f" + {pluralise(duplicates, 'duplicate')}"
    )


def how_to_continue(name: str) -> str:
    """How to continue a running campaign that no process sends."""
    run = command_text("campaign", "run", name)
    return f"continue with: {run} (a worker with its numbers continues by itself)"


def no_worker(name: str, state: CampaignState) -> str:
    """What a released campaign waits for if no process has any of its numbers."""
    run = "" if state is CampaignState.SCHEDULED else f", or use `{command_text('campaign', 'run', name)}`"
    return f"no worker with its numbers is running: start one with `drumbeat worker`{run}"


def how_to_resume(phone_number_id: str) -> str:
    """How a person lets a stopped number send again."""
    return f"resume with `{command_text('numbers', 'resume', phone_number_id)}`"


def counts_line(status: CampaignStatus) -> str:
    """The states that are not empty: `pending 3, accepted 17`."""
    present = [f"{state} {status.counts[state]:,}" for state in RecipientState if status.counts[state]]
    return ", ".join(present) or "no recipients"


def progress_line(status: CampaignStatus, rate_per_s: float) -> str:
    """One line for logs: recipients done, rate and remaining time."""
    done = status.recipients - status.waiting
    share = 100 * done / status.recipients if status.recipients else 100.0
    left = f", {duration(status.waiting / rate_per_s)} left" if rate_per_s > 0 and status.waiting else ""
    reason = f" ({status.reason})" if status.reason else ""
    return (
        f"{status.name}: {status.state}{reason}, {done:,} of {status.recipients:,} ({share:.1f} %), "
        f"{rate_per_s:,.0f}/s{left}; {counts_line(status)}"
    )


def status_lines(status: CampaignStatus) -> Iterator[str]:
    """The lines of `campaign status`."""
    yield f"{status.name}: {status.state}" + (f" ({status.reason})" if status.reason else "")
    if status.nobody_sends:
        yield f"{NOBODY_SENDS}; {how_to_continue(status.name)}"
    yield f"recipients {status.recipients:,}: {counts_line(status)}"
    if status.pruned_recipients:
        yield f"pruned: only the counts are left of {pluralise(status.pruned_recipients, 'recipient')}"
    if status.eta_s is not None and status.rate_per_s is not None:
        left = f", {duration(status.eta_s)} left" if status.waiting else ""
        yield f"rate {status.rate_per_s:,.1f}/s{left}"
    for name, moment in (
        ("starts", None if status.started_at or status.state in FINAL_STATES else status.start_at),
        ("started", status.started_at),
        ("ended", status.finished_at),
    ):
        if moment is not None:
            yield f"{name} {moment.isoformat(timespec='seconds')}"
    for number in status.numbers:
        rest = number.owner or "idle"
        if number.suspended_reason:
            rest = f"{'stopped' if number.stopped else 'suspended'}: {number.suspended_reason}"
        if number.stopped:
            rest += f"; {how_to_resume(number.phone_number_id)}"
        sent = f"limit {number.limit_per_s:g}/s, {pluralise(number.attempts, 'request')}"
        yield f"number {number.phone_number_id}: {sent}, {rest}"
