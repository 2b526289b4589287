"""The geometry of charts; the pages draw them as SVG, with a table behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaigns.console.live import HISTORY, PERIOD_S, RatePoint
from campaigns.results.status import CampaignStatus
from engine.core.states import RecipientState

BAR_UNITS = 1_000
CHART_WIDTH, CHART_HEIGHT = 600, 100
CHARTS_MAX = 12  # more numbers are only in the table
SPAN_MIN_S, SPAN_MAX_S = 60.0, HISTORY * PERIOD_S
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
# A message that was read was also delivered, and so on.
_REACHED = (RecipientState.ACCEPTED, RecipientState.SENT, RecipientState.DELIVERED, RecipientState.READ)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar of BAR_UNITS: where it begins and how wide it is."""

    state: RecipientState
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class RateChart:
    """The rate of one number. `points`: of a polyline; `limit_y`: the height of the limit's line."""

    phone_number_id: str
    points: str
    limit_y: float
    latest_per_s: float
    peak_per_s: float
    limit_per_s: float


def segments(counts: Mapping[RecipientState, int]) -> list[Segment]:
    """The parts of a bar; one that has anybody is at least visible."""
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


def funnel(counts: Mapping[RecipientState, int], accepted: int) -> dict[RecipientState, int]:
    """How many messages came at least so far. `accepted`: by the service, whatever became of them.

    A person may take recipients in doubt as sent: they count as accepted without a reply of the service.
    """
    found = {step: sum(counts[state] for state in _REACHED[index:]) for index, step in enumerate(_REACHED)}
    return {**found, RecipientState.ACCEPTED: max(accepted, found[RecipientState.ACCEPTED])}


def rate_charts(status: CampaignStatus, rates: Mapping[str, Sequence[RatePoint]]) -> list[RateChart]:
    """A chart for each number of which there are two readings, once anything was sent between readings."""
    limits = {number.phone_number_id: number.limit_per_s for number in status.numbers}
    drawn = [(number, points) for number, points in rates.items() if len(points) > 1 and number in limits]
    if not any(point.per_s for _, points in drawn for point in points):
        return []
    return [_rate_chart(number, points, limits[number]) for number, points in drawn[:CHARTS_MAX]]


def _rate_chart(number: str, points: Sequence[RatePoint], limit_per_s: float) -> RateChart:
    peak, latest_s = max(point.per_s for point in points), points[-1].at_s
    span_s = min(max(latest_s - points[0].at_s, SPAN_MIN_S), SPAN_MAX_S)
    top = HEADROOM * max(limit_per_s, peak)
    placed = " ".join(
        f"{CHART_WIDTH * (1 - (latest_s - point.at_s) / span_s):.1f},{_height(point.per_s, top):.1f}"
        for point in points
    )
    return RateChart(number, placed, _height(limit_per_s, top), points[-1].per_s, peak, limit_per_s)


def _height(per_s: float, top: float) -> float:
    return CHART_HEIGHT * (1 - per_s / top)
