"""The geometry of charts; the pages draw them as SVG, with a table behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from drumbeat.campaigns.results.breakdown import Line
from drumbeat.campaigns.results.number_progress import NumberProgress
from drumbeat.campaigns.results.rates import RateHistory, RateLine
from drumbeat.campaigns.results.variants import VariantResult
from drumbeat.engine.core.states import RecipientState

BAR_UNITS = 1_000
CHART_WIDTH, CHART_HEIGHT = 600, 100
INTERVAL_UNITS, INTERVAL_MARGIN = 100, 0.1
HEADROOM = 1.15  # the line of the limit must not lie on the edge

# The order in which a campaign's bar shows the states.
BAR_ORDER = (
    RecipientState.READ,
    RecipientState.DELIVERED,
    RecipientState.SENT,
    RecipientState.ACCEPTED,
    RecipientState.FAILED,
    RecipientState.UNKNOWN,
    RecipientState.SKIPPED,
    RecipientState.DEFERRED,
    RecipientState.PENDING,
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar of BAR_UNITS: where it begins and how wide it is."""

    state: RecipientState
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class RateChart:
    """The rate of one number. `points`: of a polyline; `limit_y`: the height of the limit's line."""

    number: str
    points: str
    limit_y: float
    latest_per_s: float
    peak_per_s: float
    limit_per_s: float
    attempts: int
    throttled: int


@dataclass(frozen=True, slots=True)
class IntervalPlot:
    """A share, and the interval that it lies in, on a line of INTERVAL_UNITS."""

    low: float
    share: float
    high: float


def segments(counts: Mapping[RecipientState, int]) -> list[Segment]:
    """Return the parts of a bar. A part that stands for at least one recipient is visible."""
    total = sum(counts.values())
    found, start = [], 0.0
    for state in BAR_ORDER:
        if not counts[state]:
            continue
        width = max(3.0, BAR_UNITS * counts[state] / total)
        found.append(Segment(state, start, width))
        start += width
    scale = BAR_UNITS / start if start else 1.0
    return [Segment(part.state, part.start * scale, part.width * scale) for part in found]


def rate_charts(history: RateHistory, numbers: Sequence[NumberProgress]) -> list[RateChart]:
    """Return a chart for each number that sent. All charts cover the same time."""
    lines = {line.phone_number_id: line for line in history.lines}
    drawn = [(number, lines[number.phone_number_id]) for number in numbers if number.phone_number_id in lines]
    return [_rate_chart(number, line) for number, line in drawn]


def _rate_chart(number: NumberProgress, line: RateLine) -> RateChart:
    top = HEADROOM * max(number.limit_per_s, line.peak_per_s)
    slot = CHART_WIDTH / len(line.per_s)
    steps = [
        f"{x:.1f},{_height(per_s, top):.1f}"
        for at, per_s in enumerate(line.per_s)
        for x in (slot * at, slot * (at + 1))
    ]
    return RateChart(
        number.label,
        " ".join(steps),
        _height(number.limit_per_s, top),
        line.per_s[-1],
        line.peak_per_s,
        number.limit_per_s,
        number.attempts,
        line.throttled,
    )


def _height(per_s: float, top: float) -> float:
    return CHART_HEIGHT * (1 - per_s / top)


def line_segments(line: Line) -> list[Segment]:
    """Return the bar of one line of a breakdown."""
    return segments({state: line.states[state] for state in RecipientState})


def interval_plots(results: Sequence[VariantResult], measure: str) -> list[IntervalPlot]:
    """Return the intervals of all variants on one line, which begins and ends a little beyond them."""
    intervals = [result.interval(measure) for result in results]
    begin, end = min(each.low for each in intervals), max(each.high for each in intervals)
    margin = INTERVAL_MARGIN * (end - begin)
    scale = INTERVAL_UNITS / (end - begin + 2 * margin)

    def place(value: float) -> float:
        return scale * (value - begin + margin)

    return [
        IntervalPlot(place(each.low), place(result.share(measure) or 0.0), place(each.high))
        for each, result in zip(intervals, results, strict=True)
    ]
