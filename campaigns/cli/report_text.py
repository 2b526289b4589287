"""A campaign's report as text: `drumbeat campaign report` prints it."""

from collections.abc import Iterator
from typing import Any

from drumbeat.campaigns.cli.status_text import audience_sum
from drumbeat.campaigns.command_text import command_text, flag
from drumbeat.campaigns.duration import duration
from drumbeat.campaigns.options.identity import RETRY_OF
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.results.report import NumberReport, ReasonCount, Report
from drumbeat.campaigns.results.variants import result_lines
from drumbeat.campaigns.template_shares import share_lines
from drumbeat.engine.core.error_codes import remedy_of
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.core.states import RecipientState

OPTIONS_SHOWN = (
    "param", "header_column", "start_at", "expires_at", "window", "time_zone", "on_unknown", "max_failed",
)  # fmt: skip
STEADY_S = 5.0  # a shorter run is mostly its first and last second, so its share of the limit misleads


def report_lines(report: Report) -> Iterator[str]:
    """Give the lines of `campaign report`."""
    status = report.status
    reason = status.reason_in_words
    yield f"Campaign {status.name}: {status.state}" + (f" ({reason})" if reason else "")
    has_template = bool(report.language)
    yield (
        f"Template {report.template}, language {report.language}"
        if has_template
        else f"Free-form message of type {report.template}"
    )
    for line in share_lines(status.templates):
        yield f"  {line}"
    if (retried := report.options.get(RETRY_OF)) is not None:
        yield f"Sends again to those whom {sanitise(retried)} did not reach"
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
        yield "  pruned: the recipients and their reasons were dropped; the counts stay"
    if report.variants:
        yield ""
    yield from result_lines(report.variants)
    yield from _reasons(report)
    yield from _numbers(report)
    yield from _audits(report)


def _options(options: dict[str, Any]) -> Iterator[str]:
    """Give the options that say when and what a campaign sends, unless the report shows them elsewhere."""
    for key in OPTIONS_SHOWN:
        value = options.get(key)
        if value and not (key == "time_zone" and not options.get("window")):
            yield f"{flag(key)} {sanitise(', '.join(value) if isinstance(value, list) else str(value))}"


def _verdict(holds: bool) -> str:
    return "" if holds else "  DOES NOT ADD UP"


def _reasons(report: Report) -> Iterator[str]:
    titles = {
        RecipientState.FAILED: "Failures by code",
        RecipientState.SKIPPED: "Skipped",
        RecipientState.UNKNOWN: "In doubt (see `drumbeat campaign settle`)",
        RecipientState.DEFERRED: "Waiting for another attempt",
    }
    for state, title in titles.items():
        if found := report.reasons.get(state):
            yield ""
            yield title
            yield from map(_reason_line, found)
            if state is RecipientState.FAILED:
                listing = command_text("campaign", "export", report.status.name, "--state", state.value)
                yield f"  list them with: {listing}"


def _reason_line(reason: ReasonCount) -> str:
    meaning = f"  {reason.meaning}" if reason.meaning else ""
    remedy = f" ({found})" if (found := remedy_of(reason.reason)) else ""
    return f"  {reason.recipients:>12,}  {reason.reason}{meaning}{remedy}"


def _numbers(report: Report) -> Iterator[str]:
    if not report.numbers:
        return
    yield ""
    yield "Numbers"
    yield from map(_number_line, report.numbers)
    if (cpu_us := report.cpu_us_per_message) is not None:
        yield f"  CPU per message: {cpu_us:,.0f} µs"
    if (limited := report.limited) is not None:
        yield f"  limited by {limited.words}"
        slowed, idle = duration(limited.slowed_s), duration(limited.idle_s)
        yield f"  {slowed} more than at the limits; nothing was sent for {idle}"


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
    took = ", ".join(
        f"{name} {value:,.0f} ms" for name, value in number.reply_ms.items() if value is not None
    )
    return (
        f"  {number.phone_number_id}: {pace}, {pluralise(number.attempts, 'request')}, "
        f"{number.accepted:,} accepted, {number.throttled:,} throttled"
        + (f"; replies {took}" if took else "")
    )
