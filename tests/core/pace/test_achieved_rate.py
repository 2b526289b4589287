"""How fast a number sends is measured by its writes, and falls to 0 when it stops."""

import pytest

from drumbeat.engine.core.pace.achieved_rate import WINDOW_NS, AchievedRate
from drumbeat.engine.core.units import SECOND_NS

TENTH_NS = SECOND_NS // 10


def after(seconds: float, per_s: float) -> tuple[AchievedRate, int, int]:
    """A number that has sent evenly since 0, asked ten times a second; with its writes and the time."""
    rate, writes, now_ns = AchievedRate(0), 0, 0
    while now_ns < seconds * SECOND_NS:
        now_ns += TENTH_NS
        writes = int(now_ns * per_s / SECOND_NS)
        rate.measure(writes, now_ns)
    return rate, writes, now_ns


@pytest.mark.parametrize("per_s", [1.0, 80.0, 1_000.0])
@pytest.mark.parametrize("seconds", [2, 5, 60])
def test_a_steady_rate_is_shown(per_s: float, seconds: int) -> None:
    rate, writes, now_ns = after(seconds, per_s)
    assert rate.per_s(writes, now_ns) == pytest.approx(per_s, rel=0.05)


def test_a_number_that_stopped_shows_none_of_its_former_rate() -> None:
    rate, writes, now_ns = after(60, 80)
    while now_ns < 60 * SECOND_NS + WINDOW_NS + SECOND_NS:
        now_ns += TENTH_NS
        rate.measure(writes, now_ns)
    assert rate.per_s(writes, now_ns) == 0


def test_a_number_that_has_just_begun_shows_no_more_than_it_sent() -> None:
    rate = AchievedRate(0)
    assert rate.per_s(0, 0) == 0
    assert rate.per_s(8, TENTH_NS) == 8
