"""The results of a campaign by variant, and whether they already show which variant does better."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.campaigns.results.breakdown import By, Line, breakdown
from drumbeat.campaigns.template_shares import TemplateShare
from drumbeat.engine.core.states import RecipientState as State
from drumbeat.engine.core.wilson import Interval, wilson_interval
from drumbeat.engine.store.database import Pool

REPLIED = "replied"
# Each measure, and the present states that count for it: who read a message also received it.
MEASURES: Mapping[str, frozenset[State]] = {
    "accepted": frozenset({State.ACCEPTED, State.SENT, State.DELIVERED, State.READ}),
    "delivered": frozenset({State.DELIVERED, State.READ}),
    "read": frozenset({State.READ}),
    "failed": frozenset({State.FAILED}),
}
COMPARED = ("delivered", "read", REPLIED)  # more is better


@dataclass(frozen=True, slots=True)
class VariantResult:
    """The results of one variant. `sent` counts recipients whose message was accepted or failed; the others
    were not sent to. `counts` has a number for each measure.
    """

    variant: str
    template: str
    recipients: int
    sent: int
    counts: Mapping[str, int]

    def interval(self, measure: str) -> Interval:
        """Return the interval of the measure's share of `sent`."""
        return wilson_interval(self.counts[measure], self.sent)

    def share(self, measure: str) -> float | None:
        return self.counts[measure] / self.sent if self.sent else None


async def variant_results(
    pool: Pool, campaign_id: int, templates: Sequence[TemplateShare]
) -> tuple[VariantResult, ...]:
    """Return the results in the order of the variants, each with all of its languages. A campaign without
    variants has none.
    """
    if not any(template.variant for template in templates):
        return ()
    return results_of(await breakdown(pool, campaign_id, By.VARIANT), templates)


def results_of(lines: Iterable[Line], templates: Sequence[TemplateShare]) -> tuple[VariantResult, ...]:
    """Return the results from the lines of a breakdown by variant."""
    by_name = {line.key: line for line in lines}
    names = dict.fromkeys(template.variant for template in templates if template.variant)
    return tuple(_result(name, templates, by_name.get(name) or Line(name)) for name in names)


def _result(name: str, templates: Sequence[TemplateShare], line: Line) -> VariantResult:
    counts = {measure: sum(line.states[state] for state in states) for measure, states in MEASURES.items()}
    return VariantResult(
        variant=name,
        template=next(template.name for template in templates if template.variant == name),
        recipients=line.recipients,
        sent=counts["accepted"] + counts["failed"],
        counts={**counts, REPLIED: line.replied},
    )


def verdicts(results: Sequence[VariantResult]) -> dict[str, str]:
    """Return in words, for each measure, which variant does better, or that it is too early to say."""
    if not results:
        return {}
    return {measure: _in_words(winner(results, measure)) for measure in COMPARED}


def winner(results: Sequence[VariantResult], measure: str) -> str | None:
    """Return the variant whose interval lies above all others; None while it is too early to say."""
    best, *others = sorted(results, key=lambda result: -(result.share(measure) or 0.0))
    is_above = best.interval(measure).low > max(other.interval(measure).high for other in others)
    return best.variant if is_above else None


def _in_words(variant: str | None) -> str:
    if variant is None:
        return "too early: the intervals overlap"
    return f"{variant} does better: its interval lies above the others'"


def results_json(results: Sequence[VariantResult]) -> list[dict[str, Any]]:
    return [
        {
            "variant": result.variant,
            "template": result.template,
            "recipients": result.recipients,
            "sent": result.sent,
            **{measure: _measure_json(result, measure) for measure in result.counts},
        }
        for result in results
    ]


def _measure_json(result: VariantResult, measure: str) -> dict[str, Any]:
    share, interval = result.share(measure), result.interval(measure)
    return {
        "recipients": result.counts[measure],
        "share": None if share is None else round(share, 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
    }


def result_lines(results: Sequence[VariantResult]) -> Iterator[str]:
    """Give the part of the report about variants; nothing if there are none."""
    if not results:
        return
    yield "Variants (shares of those sent to, with 95 % intervals)"
    for result in results:
        yield f"  {result.variant} ({result.template}): {result.sent:,} of {result.recipients:,} sent to"
        for measure, count in result.counts.items():
            yield f"    {measure:<9} {count:>12,}{_shares_text(result, measure)}"
    for measure, verdict in verdicts(results).items():
        yield f"  {measure}: {verdict}"


def _shares_text(result: VariantResult, measure: str) -> str:
    share, interval = result.share(measure), result.interval(measure)
    if share is None:
        return ""
    return f"  {100 * share:5.1f} %  ({100 * interval.low:.1f} to {100 * interval.high:.1f} %)"
