"""A campaign's status as text, the same on a terminal, in a log and in a file."""

from collections.abc import Iterator

from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.duration import duration
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.results.number_progress import NumberProgress
from drumbeat.campaigns.results.status import FINAL_STATES, NOBODY_SENDS, CampaignStatus
from drumbeat.campaigns.template_shares import share_lines
from drumbeat.engine.core.canary import in_words
from drumbeat.engine.core.order import Priority
from drumbeat.engine.core.states import CampaignState, RecipientState

SAID_OF_NUMBERS = ("stopped", "rests", "quota_of_one")  # the lines of the numbers say it, with what to do


def audience_sum(rows: int, recipients: int, rejected: int, duplicates: int) -> str:
    """Return how the rows of the file add up."""
    return (
        f"{pluralise(rows, 'row')} = {pluralise(recipients, 'recipient')} + {rejected:,} rejected"
        f" + {pluralise(duplicates, 'duplicate')}"
    )


def how_to_start(name: str) -> str:
    """Return how to hand a draft with a start time to the workers."""
    return f"start it with: {command_text('campaign', 'start', name)}"


def how_to_continue(name: str) -> str:
    """Return how to continue a running campaign that no process sends."""
    run = command_text("campaign", "run", name)
    return f"continue with: {run} (a worker with its numbers continues by itself)"


def no_worker(name: str, state: CampaignState) -> str:
    """Return what a released campaign waits for if no process has any of its numbers."""
    run = "" if state is CampaignState.SCHEDULED else f", or use `{command_text('campaign', 'run', name)}`"
    return f"no worker with its numbers is running: start one with `drumbeat worker`{run}"


def quota_text(used: int | None, limit: int | None) -> str:
    """Return how much of a messaging limit is used, such as `812 of 1,000`; empty without a limit."""
    return "" if limit is None else f"{used or 0:,} of {limit:,}"


def quota_warning(days: int) -> str:
    """Return the warning that the messaging limits are too low for one day."""
    return (
        "warning: the messaging limits do not allow it in 24 hours:"
        f" it takes at least {days} periods of 24 hours"
    )


def how_to_resume(phone_number_id: str) -> str:
    """Return how a person lets a stopped number send again."""
    return f"resume with `{command_text('numbers', 'resume', phone_number_id)}`"


def counts_line(status: CampaignStatus) -> str:
    """Return the states that are not empty: `pending 3, accepted 17`."""
    present = [f"{state} {status.counts[state]:,}" for state in RecipientState if status.counts[state]]
    return ", ".join(present) or "no recipients"


def progress_line(status: CampaignStatus, rate_per_s: float) -> str:
    """Return one line for logs: recipients done, rate and remaining time."""
    done = status.recipients - status.waiting
    share = 100 * done / status.recipients if status.recipients else 100.0
    left = f", {duration(status.waiting / rate_per_s)} left" if rate_per_s > 0 and status.waiting else ""
    reason = _in_brackets(status.reason_in_words)
    return (
        f"{status.name}: {status.state}{reason}, {done:,} of {status.recipients:,} ({share:.1f} %), "
        f"{rate_per_s:,.0f}/s{left}; {counts_line(status)}"
    )


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


def order_text(priority: str, share_percent: int | None) -> str:
    """Return the order in words: `priority high, share 30 %`."""
    return f"priority {priority}" + ("" if share_percent is None else f", share {share_percent} %")


def _health_lines(status: CampaignStatus) -> Iterator[str]:
    """Give the order, the canary and the error budget, as far as they were asked for."""
    if status.priority != Priority.NORMAL.word or status.share_percent is not None:
        yield order_text(status.priority, status.share_percent)
    if (canary := status.canary) is not None:
        approved = ", not approved yet" if canary.lacks_approval and canary.passed_at is None else ""
        counts = f"{in_words(canary.counts)}, limit {canary.max_failed}"
        yield f"canary of {canary.counts.recipients:,}: {canary.state}; {counts}{approved}"
    if status.pause_at_failed is not None:
        yield f"pauses when more than {status.pause_at_failed} failed"


def status_lines(status: CampaignStatus) -> Iterator[str]:
    """Give the lines of `campaign status`."""
    yield f"{status.name}: {status.state}{_in_brackets(status.reason_in_words)}"
    if status.state is CampaignState.DRAFT and status.start_at is not None:
        yield how_to_start(status.name)
    if status.nobody_sends:
        yield f"{NOBODY_SENDS}; {how_to_continue(status.name)}"
    yield f"recipients {status.recipients:,}: {counts_line(status)}"
    notes = [why for why in status.why if not (why.is_reason or why.code in SAID_OF_NUMBERS)]
    yield from (why.words for why in notes)
    for line in share_lines(status.templates):
        yield f"  {line}"
    yield from _health_lines(status)
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
    yield from map(_number_line, status.numbers)


def _number_line(number: NumberProgress) -> str:
    rest = number.owner or "idle"
    if number.suspended_reason:
        rest = f"{'stopped' if number.stopped else 'suspended'}: {number.suspended_reason}"
    if number.stopped:
        rest += f"; {how_to_resume(number.phone_number_id)}"
    sent = f"limit {number.limit_per_s:g}/s, {pluralise(number.attempts, 'request')}"
    if number.quota_limit is not None:
        sent += f", {quota_text(number.quota_used, number.quota_limit)} people in 24 hours"
    if number.quota_more_at is not None:
        sent += f" (more at {number.quota_more_at:%Y-%m-%d %H:%M:%SZ})"
    return f"number {number.phone_number_id}: {sent}, {rest}"
