"""The rate follows what the service takes: down at once, up without a sawtooth; a stall costs nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.pace.rate_governor import (
    FLOOR_SHARE,
    HOLD_S_MAX,
    QUOTA_SUSPENSION_S,
    RateGovernor,
    Suspension,
)
from drumbeat.engine.core.pace.token_bucket import HEADROOM
from drumbeat.engine.core.units import SECOND_NS

from .service_window import Simulation

MS = 1_000_000


@pytest.mark.parametrize(
    ("believed", "true"),
    [
        (1_000, 1_000),
        (1_000, 980),
        (1_000, 950),
        (1_000, 910),
        (1_000, 800),
        (1_000, 400),
        (80, 80),
        (80, 78),
        (80, 60),
        (5_000, 4_500),
    ],
)
def test_the_waste_against_the_true_limit_stays_under_three_percent(believed: float, true: float) -> None:
    seconds = Simulation(believed, lambda _: true).run(40).seconds[1:]
    accepted, throttled = (
        sum(second.accepted for second in seconds),
        sum(second.throttled for second in seconds),
    )
    assert accepted / len(seconds) >= 0.97 * true
    assert throttled <= 0.03 * (accepted + throttled)


def test_a_limit_that_falls_is_followed_within_two_seconds_and_recovers_within_forty() -> None:
    seconds = Simulation(1_000, lambda now_s: 800 if 5 <= now_s < 15 else 1_000).run(60).seconds
    assert seconds[4].rate_per_s == pytest.approx(1_000 * HEADROOM)
    assert seconds[8].rate_per_s <= 800
    assert sum(second.throttled for second in seconds) <= 500
    assert any(second.rate_per_s >= 983 for second in seconds[16:55])
    assert sum(second.accepted for second in seconds[8:15]) >= 0.97 * 800 * 7


def rate_share(governor: RateGovernor, now_ns: int) -> float:
    return governor.rate_per_s(now_ns) / (governor._limit_per_s * HEADROOM)


@pytest.mark.parametrize(
    ("limit", "throttles", "seconds"),
    [(5, 1, [1]), (80, 1, [1]), (1_000, 1, [1]), (80, 7, [1]), (1_000, 90, [1]), (1_000, 90, [1, 11, 21])],
)
def test_the_throttles_of_a_stall_cost_nothing_after_a_calm(
    limit: float, throttles: int, seconds: list[int]
) -> None:
    governor = RateGovernor(limit, 0)
    for second in seconds:
        for _ in range(throttles):
            governor.throttled(second * SECOND_NS, second * SECOND_NS - 50 * MS)
        for step in range(100):
            now_ns = second * SECOND_NS + step * 100 * MS
            governor.decide(now_ns)
            assert rate_share(governor, now_ns) == 1


@pytest.mark.parametrize(("limit", "throttles"), [(80, 2), (1_000, 20)])
def test_repeated_throttles_lower_the_rate_within_four_seconds(limit: float, throttles: int) -> None:
    governor = RateGovernor(limit, 0)
    for second in range(1, 6):
        governor.decide(second * SECOND_NS)
        for _ in range(throttles):
            governor.throttled(second * SECOND_NS, second * SECOND_NS - 50 * MS)
    assert governor.rate_per_s(5 * SECOND_NS) == pytest.approx((limit * HEADROOM - throttles) * HEADROOM)
    assert governor.is_slowed(5 * SECOND_NS) and not governor.is_slowed(120 * SECOND_NS)


def test_one_decision_a_window_however_many_errors() -> None:
    governor = RateGovernor(1_000, 0)
    for reply in range(200):
        governor.throttled(SECOND_NS + reply * MS, SECOND_NS)
        governor.decide(SECOND_NS + reply * MS)
    assert rate_share(governor, SECOND_NS + 300 * MS) == 1
    governor.decide(2 * SECOND_NS)
    assert governor.rate_per_s(2 * SECOND_NS) == pytest.approx((1_000 * HEADROOM - 200) * HEADROOM)


def test_what_comes_after_a_window_does_not_count_in_it_however_late_it_is_read() -> None:
    governor = RateGovernor(1_000, 0)
    for begun_ns in (SECOND_NS, 2 * SECOND_NS + 100 * MS):
        for _ in range(200):
            governor.throttled(begun_ns, SECOND_NS)
    governor.decide(3 * SECOND_NS)
    assert governor.rate_per_s(2 * SECOND_NS + 100 * MS) == pytest.approx((1_000 * HEADROOM - 200) * HEADROOM)


def test_the_rate_does_not_rise_while_throttles_come() -> None:
    governor = RateGovernor(1_000, 0)
    for _ in range(500):
        governor.throttled(0, 0)
    governor.decide(SECOND_NS)
    climbed = governor.rate_per_s(5 * SECOND_NS)
    assert climbed > governor.rate_per_s(SECOND_NS)
    governor.throttled(5 * SECOND_NS, 5 * SECOND_NS)
    assert governor.rate_per_s(5 * SECOND_NS + 900 * MS) == climbed


def test_a_slow_number_counts_over_a_longer_window() -> None:
    """At one message a second: two of five."""
    governor = RateGovernor(1, 0)
    for second in (1, 4):
        governor.throttled(second * SECOND_NS, second * SECOND_NS)
        governor.decide((second + 1) * SECOND_NS)
    governor.decide(7 * SECOND_NS)
    assert governor.rate_per_s(7 * SECOND_NS) == pytest.approx(0.6 * HEADROOM**2, rel=0.01)


def test_a_slow_number_that_is_throttled_again_and_again_gets_slower() -> None:
    governor = RateGovernor(1, 0)
    for second in range(60):
        if second % 7 == 1:
            governor.throttled(second * SECOND_NS, second * SECOND_NS)
        governor.decide(second * SECOND_NS)
    assert rate_share(governor, 60 * SECOND_NS) < 0.9


def test_throttles_of_the_old_rate_do_not_cut_twice() -> None:
    governor = RateGovernor(1_000, 0)
    for reply in range(200):
        governor.throttled(SECOND_NS + reply * MS, SECOND_NS)
    governor.decide(2 * SECOND_NS)
    cut = governor.rate_per_s(2 * SECOND_NS)
    for reply in range(200):
        governor.throttled(2 * SECOND_NS + 500 * MS, 2 * SECOND_NS + reply * MS)
    governor.decide(4 * SECOND_NS)
    assert governor.rate_per_s(4 * SECOND_NS) >= cut


@pytest.mark.parametrize("limit", [1_000, 80])
def test_five_minutes_of_throttles_at_the_floor_suspend_the_number(limit: float) -> None:
    simulation = Simulation(limit, lambda _: 0).run(330)
    assert simulation.suspended is not None
    after_s, suspend = simulation.suspended
    assert 300 <= after_s <= 305
    assert suspend.until_ns / SECOND_NS == pytest.approx(after_s + QUOTA_SUSPENSION_S)
    assert simulation.seconds[10].rate_per_s == pytest.approx(limit * HEADROOM * FLOOR_SHARE, rel=0.05)


def until_at_the_floor(governor: RateGovernor, begun_s: int, seconds: int) -> list[Suspension]:
    """All that is written is throttled."""
    rests = []
    for second in range(begun_s, begun_s + seconds):
        for _ in range(1_000):
            governor.throttled(second * SECOND_NS, second * SECOND_NS)
        rests.append(governor.decide((second + 1) * SECOND_NS))
    assert governor.rate_per_s((begun_s + seconds) * SECOND_NS) < 1.1 * governor.floor_per_s
    return [rest for rest in rests if rest is not None]


def test_two_periods_at_the_floor_with_a_calm_between_them_are_no_quota() -> None:
    governor = RateGovernor(1_000, 0)
    assert until_at_the_floor(governor, 0, 20) == []
    for second in range(20, 320):
        assert governor.decide(second * SECOND_NS) is None
    assert rate_share(governor, 320 * SECOND_NS) == 1
    assert until_at_the_floor(governor, 320, 20) == []


def test_a_quota_is_reported_once() -> None:
    assert len(until_at_the_floor(RateGovernor(1_000, 0), 0, 400)) == 1


def test_a_slow_service_is_a_pace_and_no_quota() -> None:
    simulation = Simulation(1_000, lambda _: 20).run(330)
    assert simulation.suspended is None


def test_a_wait_that_the_service_asks_for_holds_the_number() -> None:
    governor = RateGovernor(80, 0)
    governor.throttled(SECOND_NS, 0, wait_s=7.5)
    governor.throttled(SECOND_NS, 0, wait_s=2)
    assert governor.hold_until_ns == SECOND_NS + 7_500 * MS
    governor.throttled(9 * SECOND_NS, 0, wait_s=0.5)
    assert governor.hold_until_ns == 9_500 * MS, "a short wait counts too"


def test_a_long_wait_that_the_service_asks_for_suspends_once() -> None:
    begun_ns = 100 * SECOND_NS
    governor = RateGovernor(80, begun_ns)
    governor.throttled(begun_ns, begun_ns, wait_s=HOLD_S_MAX)
    assert governor.decide(begun_ns) is None, "a short one is only a hold"
    for reply_ns in range(begun_ns, begun_ns + 500 * MS, 10 * MS):
        governor.throttled(reply_ns, begun_ns, wait_s=60)
        rest = governor.decide(reply_ns)
        assert rest == (
            Suspension(160 * SECOND_NS, "the service asked to wait for 60 s")
            if reply_ns == begun_ns
            else None
        )
    governor.throttled(101 * SECOND_NS, begun_ns, wait_s=600)
    longer = governor.decide(101 * SECOND_NS)
    assert longer is not None
    assert longer.until_ns == 701 * SECOND_NS


def test_after_a_suspension_that_the_service_asked_for_the_number_continues() -> None:
    governor = RateGovernor(1_000, 0)
    governor.throttled(0, 0, wait_s=60)
    assert governor.decide(0) is not None
    governor.resume(60 * SECOND_NS)
    assert governor.rate_per_s(60 * SECOND_NS) == pytest.approx(1_000 * HEADROOM)
    governor.throttled(70 * SECOND_NS, 70 * SECOND_NS, wait_s=60)
    assert governor.decide(70 * SECOND_NS) is not None


@pytest.mark.parametrize(
    "rested_before", [False, True], ids=["first", "after one that the service asked for"]
)
def test_after_a_suspension_the_number_climbs_from_the_floor_within_a_minute(rested_before: bool) -> None:
    governor = RateGovernor(1_000, 0)
    if rested_before:
        governor.throttled(0, 0, wait_s=60)
        assert governor.decide(0) is not None
        governor.resume(60 * SECOND_NS)
    governor.resume(3_600 * SECOND_NS)
    assert governor.rate_per_s(3_600 * SECOND_NS) == governor.floor_per_s
    assert governor.rate_per_s(3_605 * SECOND_NS) < 500, "not back at once"
    assert governor.rate_per_s(3_660 * SECOND_NS) == pytest.approx(1_000 * HEADROOM)


def test_a_new_limit_takes_effect_at_once() -> None:
    governor = RateGovernor(80, 0)
    governor.set_limit(1_000, 5)
    assert governor.rate_per_s(5) == pytest.approx(1_000 * HEADROOM)


def test_what_was_learnt_under_an_old_limit_is_forgotten() -> None:
    governor = RateGovernor(80, 0)
    for second in (1, 3):  # two windows of throttles: the rate falls
        for _ in range(60):
            governor.throttled(second * SECOND_NS, second * SECOND_NS)
        governor.decide((second + 1) * SECOND_NS)
    assert rate_share(governor, 4 * SECOND_NS) < 0.5
    for _ in range(60):
        governor.throttled(6 * SECOND_NS, 6 * SECOND_NS)
    governor.set_limit(1_000, 6 * SECOND_NS)
    for _ in range(90):  # a stall, long after the last throttle of this limit
        governor.throttled(6_500 * MS, 6_500 * MS)
    for tenth in range(65, 120):
        governor.decide(tenth * 100 * MS)
        assert rate_share(governor, tenth * 100 * MS) == 1


@pytest.mark.parametrize(
    ("limit", "floor"), [(1_000, 10 * HEADROOM), (80, 0.8 * HEADROOM), (5, 0.2), (0.1, 0.1 * HEADROOM)]
)
def test_the_floor_is_a_hundredth_or_enough_to_recognise_a_quota_and_never_above_the_limit(
    limit: float, floor: float
) -> None:
    assert RateGovernor(limit, 0).floor_per_s == pytest.approx(floor)


@given(
    st.floats(0.3, 5_000),
    st.lists(st.tuples(st.integers(0, 3 * SECOND_NS), st.integers(0, 50)), max_size=40),
)
def test_the_rate_stays_between_floor_and_headroom(limit: float, steps: list[tuple[int, int]]) -> None:
    governor, now_ns = RateGovernor(limit, 0), 0
    for step_ns, throttles in steps:
        now_ns += step_ns
        for _ in range(throttles):
            governor.throttled(now_ns, now_ns)
        governor.decide(now_ns)
        assert governor.floor_per_s <= governor.rate_per_s(now_ns) <= limit * HEADROOM * 1.000001
