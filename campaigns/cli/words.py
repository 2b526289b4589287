"""Statuses and reports in plain words, the same on a terminal, in a log and in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from campaigns.command_text import command
from campaigns.counted import counted
from campaigns.results.status import FINAL_STATES, NOBODY_SENDS, CampaignStatus
from engine.core.sanitise import shown
from engine.core.states import RecipientState

if TYPE_CHECKING:  # a run has no report to show, and should begin at once
    from campaigns.results.report import NumberReport, Reason, Report

OPTIONS_SHOWN = (
    "--param", "--start-at", "--expires-at", "--window", "--time-zone", "--on-unknown", "--max-failed",
)  # fmt: skip
STEADY_S = 5.0  # in a shorter run the first and the last second are most of it: a share of the limit misleads


def duration(seconds: float) -> str:
    """`42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    whole = round(seconds)
    for size, unit, smaller_size, smaller in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller_size
            return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def audience_sum(rows: int, recipients: int, rejected: int, duplicates: int) -> str:
    """Where each row of the file is."""
    return (
        f"{counted(rows, 'row')} = {counted(recipients, 'recipient')} + {rejected:,} rejected"
        f" + {counted(duplicates, 'duplicate')}"
    )


def how_to_go_on(name: str) -> str:
    """With a campaign that runs and that nobody sends."""
    return f"go on with: {command('campaign', 'run', name)} (a worker of its numbers goes on by itself)"


def counts_line(status: CampaignStatus) -> str:
    """The states in which there is somebody: `pending 3, accepted 17`."""
    present = [f"{state} {status.counts[state]:,}" for state in RecipientState if status.counts[state]]
    return ", ".join(present) or "no recipients"


def progress_line(status: CampaignStatus, rate_per_s: float) -> str:
    """One line for logs: how far, how fast, how long still."""
    done = status.recipients - status.waiting
    share = 100 * done / status.recipients if status.recipients else 100.0
    left = f", {duration(status.waiting / rate_per_s)} left" if rate_per_s > 0 and status.waiting else ""
    reason = f" ({status.reason})" if status.reason else ""
    return (
        f"{status.name}: {status.state}{reason}, {done:,} of {status.recipients:,} ({share:.1f} %), "
        f"{rate_per_s:,.0f}/s{left}; {counts_line(status)}"
    )


def status_lines(status: CampaignStatus) -> Iterator[str]:
    """A status for people."""
    yield f"{status.name}: {status.state}" + (f" ({status.reason})" if status.reason else "")
    if status.nobody_sends:
        yield f"{NOBODY_SENDS}; {how_to_go_on(status.name)}"
    yield f"recipients {status.recipients:,}: {counts_line(status)}"
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
        did = f"limit {number.limit_per_s:g}/s, {counted(number.attempts, 'request')}"
        yield f"number {number.phone_number_id}: {did}, {rest}"


def report_lines(report: Report) -> Iterator[str]:
    """A report for people: what, who, why not, how fast, and whether it adds up."""
    status = report.status
    yield f"Campaign {status.name}: {status.state}" + (f" ({status.reason})" if status.reason else "")
    yield f"Template {report.template}, language {report.language}"
    if options := "; ".join(_options(report.options)):
        yield f"Planned with {options}"
    yield ""
    yield "Audience"
    yield (
        f"  {audience_sum(report.audience_rows, status.recipients, report.rejected, report.duplicates)}"
        f"{_verdict(report.audience_adds_up)}"
    )
    yield ""
    yield f"Recipients by state{_verdict(report.counts_add_up)}"
    for state, count in status.counts.items():
        if count or state in (RecipientState.FAILED, RecipientState.UNKNOWN):
            yield f"  {state:<10} {count:>12,}"
    if report.pruned:
        yield "  pruned: who they were, and the reasons, are gone"
    yield from _reasons(report)
    yield from _numbers(report)
    yield from _audits(report)


def _options(options: dict[str, Any]) -> Iterator[str]:
    """Those that say when, how and with what a campaign sends, and are not shown elsewhere."""
    for name in OPTIONS_SHOWN:
        value = options.get(name)
        if value and not (name == "--time-zone" and not options.get("--window")):
            yield f"{name} {shown(', '.join(value) if isinstance(value, list) else str(value))}"


def _verdict(holds: bool) -> str:
    return "" if holds else "  DOES NOT ADD UP"


def _reasons(report: Report) -> Iterator[str]:
    titles = {
        RecipientState.FAILED: "Failures by code",
        RecipientState.SKIPPED: "Skipped",
        RecipientState.UNKNOWN: "In doubt (see `drumbeat campaign settle`)",
        RecipientState.DEFERRED: "Waiting for another try",
    }
    for state, title in titles.items():
        if found := report.reasons.get(state):
            yield ""
            yield title
            yield from map(_reason_line, found)
            if state is RecipientState.FAILED:
                listing = command("campaign", "export", report.status.name, "--state", state.value)
                yield f"  list them with: {listing}"


def _reason_line(reason: Reason) -> str:
    meaning = f"  {reason.meaning}" if reason.meaning else ""
    return f"  {reason.recipients:>12,}  {reason.reason}{meaning}"


def _numbers(report: Report) -> Iterator[str]:
    if not report.numbers:
        return
    yield ""
    yield "Numbers"
    yield from map(_number_line, report.numbers)
    if (cpu_us := report.cpu_us_per_message) is not None:
        yield f"  CPU per message: {cpu_us:,.0f} µs"


def _audits(report: Report) -> Iterator[str]:
    if report.audits:
        yield ""
        yield "Audit"
    for audit in report.audits:
        detail = "".join(f", {name} {_figure(value)}" for name, value in audit.detail.items())
        yield f"  {audit.at.isoformat(timespec='seconds')} {audit.actor}: {audit.action}{detail}"


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _number_line(number: NumberReport) -> str:
    if number.achieved_per_s is None:
        pace = f"sent for {number.active_s:.1f} s, too short for a rate"
    else:
        share = 100 * number.achieved_per_s / number.limit_per_s
        steady = f"{share:.1f} %" if number.active_s >= STEADY_S else f"in {number.active_s:.1f} s"
        pace = f"{number.achieved_per_s:,.1f}/s of {number.limit_per_s:g}/s ({steady})"
    return (
        f"  {number.phone_number_id}: {pace}, {counted(number.attempts, 'request')}, "
        f"{number.accepted:,} accepted, {number.throttled:,} throttled"
    )
