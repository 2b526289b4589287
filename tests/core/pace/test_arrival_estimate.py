"""Late replies show late arrivals: stalls throttle hardly anybody, and an uneven service costs no pace."""

from __future__ import annotations

import random
from math import log

import pytest

from drumbeat.engine.core.pace import token_bucket
from drumbeat.engine.core.pace.arrival_estimate import (
    BUDGET_KEPT_S,
    BUDGET_NS_PER_REPLY,
    DELAY_NS_MAX,
    USUAL_SPREAD_NS,
    ArrivalEstimate,
)
from drumbeat.engine.core.units import SECOND_NS
from tests.core.pace.distant_service import MS, Delay, DistantService

SECONDS = 20


def steady(latency_ms: int) -> Delay:
    return lambda chance: latency_ms * MS + chance.randrange(MS)


def uneven(median_ms: float, sigma: float) -> Delay:
    return lambda chance: int(chance.lognormvariate(log(median_ms * MS), sigma))


def stalls(seed: int) -> list[tuple[int, int]]:
    """Of 8 to 80 ms, one a second in the mean."""
    chance, at_s, found = random.Random(seed), 0.0, []
    while at_s < SECONDS:
        at_s += chance.expovariate(1)
        found.append((int(at_s * SECOND_NS), chance.randrange(8 * MS, 80 * MS)))
    return found


@pytest.mark.parametrize("limit", [20, 80, 1_000])
@pytest.mark.parametrize("latency_ms", [5, 500])
def test_stalls_between_write_and_arrival_throttle_hardly_anybody(limit: int, latency_ms: int) -> None:
    estimated = [
        DistantService(limit, work=steady(latency_ms), stalls=stalls(seed)).run(SECONDS) for seed in range(3)
    ]
    without = DistantService(limit, work=steady(latency_ms), stalls=stalls(0), estimate=False).run(SECONDS)
    assert sum(seen.throttled for seen in estimated) <= max(
        2, sum(seen.written for seen in estimated) / 2_000
    )
    assert without.throttled > 0.01 * without.written, "these stalls are noticeable"
    assert min(seen.reached for seen in estimated) >= 0.985
    assert max(seen.most_written for seen in estimated) <= limit


@pytest.mark.parametrize("limit", [20, 1_000])
@pytest.mark.parametrize("work", [uneven(50, 0.5), uneven(200, 0.8), uneven(100, 1.2), uneven(500, 0.3)])
def test_a_service_that_takes_its_time_unevenly_keeps_the_pace(limit: int, work: Delay) -> None:
    seen = DistantService(limit, work=work).run(3 * SECONDS)
    assert seen.reached >= 0.99 - 1 / limit / SECONDS
    assert seen.throttled == 0


@pytest.mark.parametrize("median_ms", [20, 200, 800])
@pytest.mark.parametrize("sigma", [0.3, 0.6])
def test_late_replies_of_an_uneven_service_are_no_late_arrivals(median_ms: float, sigma: float) -> None:
    """What the headroom leaves is reached: 99.5 %."""
    for seed in range(3):
        seen = DistantService(1_000, work=uneven(median_ms, sigma), seed=seed).run(SECONDS)
        assert seen.reached >= 0.9945
        assert seen.throttled == 0


@pytest.mark.parametrize(
    ("length_ms", "throttled_max", "reached_min"), [(50, 0.003, 0.99), (200, 0.005, 0.95)]
)
def test_stalls_show_in_the_silence_of_an_uneven_service(
    length_ms: int, throttled_max: float, reached_min: float
) -> None:
    """Late replies alone would throttle 1.5 and 4 % of the messages. What a stall takes from a strict second is lost."""
    found = [(begin_s * SECOND_NS, length_ms * MS) for begin_s in range(2, SECONDS, 4)]
    for seed in range(3):
        seen = DistantService(1_000, work=uneven(200, 0.3), stalls=found, seed=seed).run(SECONDS)
        assert seen.throttled <= throttled_max * seen.written
        assert seen.reached >= reached_min


@pytest.mark.parametrize("limit", [20, 80, 1_000])
@pytest.mark.parametrize("work", [uneven(50, 0.5), uneven(200, 0.8), uneven(100, 1.2)])
def test_long_stalls_of_an_uneven_service_throttle_at_most_what_was_written_meanwhile(
    limit: int, work: Delay
) -> None:
    """What is written during a stall of 300 ms arrives at its end, and is missing from a later second: 7.5 % of the
    pace. No second of writes is above the limit.
    """
    long_stalls = [(begin_s * SECOND_NS, 300 * MS) for begin_s in range(2, SECONDS, 4)]
    seen = DistantService(limit, work=work, stalls=long_stalls).run(SECONDS)
    assert seen.most_written <= limit
    assert seen.reached + seen.throttled / seen.written >= 0.96
    spared = 0.7 if limit == 1_000 else 0.0  # below, an uneven service is silent for long by itself
    assert seen.throttled <= (1 - spared) * 0.3 * limit * len(long_stalls) + 2


@pytest.mark.parametrize("limit", [20, 80, 1_000])
@pytest.mark.parametrize("work", [steady(50), uneven(200, 0.8)])
def test_late_wake_ups_throttle_nobody_and_keep_the_pace(limit: int, work: Delay) -> None:
    """A CPU quota makes every wake-up late, here by up to the 80 ms that the bucket makes up for."""
    seen = DistantService(limit, work=work, wake_late_ns=80 * MS).run(SECONDS)
    assert seen.most_written <= limit
    assert seen.throttled == 0
    assert seen.reached >= 0.93


def test_stalls_of_this_process_hide_no_late_arrival() -> None:
    """They raise the median; a usual latency that followed it would throttle seven times as many."""
    seen = [
        DistantService(1_000, work=steady(500), stalls=stalls(seed), own_stalls=True, seed=seed).run(SECONDS)
        for seed in range(3)
    ]
    assert sum(counted.throttled for counted in seen) <= sum(counted.written for counted in seen) / 1_000


def test_what_is_lost_on_the_way_and_sent_again_throttles_nobody() -> None:
    def way(chance: random.Random) -> int:
        return 20 * MS + chance.randrange(2 * MS) + (200 * MS if chance.random() < 0.005 else 0)

    seen = DistantService(20, work=steady(50), way=way, seed=3).run(10 * SECONDS)
    without = DistantService(20, work=steady(50), way=way, seed=3, estimate=False).run(10 * SECONDS)
    assert 4 * seen.throttled < without.throttled
    assert seen.reached >= 0.99


@pytest.mark.parametrize("limit", [80, 1_000])
def test_what_arrives_together_as_connections_open_throttles_nobody_if_the_first_second_is_slower(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reply has come yet, so no arrival can be estimated."""
    opening = [(0, 50 * MS)]
    assert DistantService(limit, work=steady(5), stalls=opening).run(5).throttled == 0
    monkeypatch.setattr(token_bucket, "FIRST_SECOND", 1.0)
    assert DistantService(limit, work=steady(5), stalls=opening).run(5).throttled > 0.02 * limit


def learnt(limit: float = 1_000, latency_ms: int = 5) -> ArrivalEstimate:
    estimate = ArrivalEstimate()
    estimate.learn(0, latency_ms * MS, limit)
    return estimate


@pytest.mark.parametrize(
    ("latency_ns", "delay_ns"),
    [
        pytest.param(40 * MS, 35 * MS - USUAL_SPREAD_NS, id="late: from the reply less the usual latency"),
        pytest.param(5 * MS + USUAL_SPREAD_NS + 1, 1, id="just late"),
        pytest.param(5 * MS + USUAL_SPREAD_NS, None, id="usual: from the write"),
        pytest.param(5 * MS + USUAL_SPREAD_NS + DELAY_NS_MAX, DELAY_NS_MAX, id="the longest delay"),
        pytest.param(5 * MS + USUAL_SPREAD_NS + DELAY_NS_MAX + 1, None, id="a pause: from the write"),
    ],
)
def test_from_when_a_request_counts(latency_ns: int, delay_ns: int | None) -> None:
    counted_ns = learnt().counted_ns(SECOND_NS, SECOND_NS + latency_ns)
    assert counted_ns == (None if delay_ns is None else SECOND_NS + delay_ns)


def test_nothing_is_estimated_before_a_latency_is_known() -> None:
    assert learnt(latency_ms=0).usual_ns > 3_600 * SECOND_NS


def replies(
    estimate: ArrivalEstimate, count: int, *, late_ns: int = 0, begin_ns: int = SECOND_NS
) -> list[int]:
    """Replies one a millisecond, each as usual or late by so much. Gives how far each request was moved."""
    moved = []
    for at_ns in range(begin_ns, begin_ns + count * MS, MS):
        estimate.awake(at_ns)
        written_ns = at_ns - estimate.usual_ns - late_ns
        counted_ns = estimate.counted_ns(written_ns, at_ns)
        moved.append(0 if counted_ns is None else counted_ns - written_ns)
    return moved


def test_no_more_is_added_than_the_budget_and_each_reply_brings_its_share() -> None:
    """One reply in ten is late, as after stalls."""
    estimate, late_ns, at_ns = learnt(limit=100), 50 * MS, SECOND_NS

    def added_ns(tens: int) -> int:
        nonlocal at_ns
        added = 0
        for _ in range(tens):
            replies(estimate, 9, begin_ns=at_ns)
            added += sum(replies(estimate, 1, late_ns=late_ns, begin_ns=at_ns + 9 * MS))
            at_ns += 10 * MS
        return added

    assert 0 <= added_ns(1_000) - 100 * BUDGET_KEPT_S * BUDGET_NS_PER_REPLY < late_ns
    estimate.learn(1_000, 5 * MS, 100)
    assert added_ns(1_000) == pytest.approx(1_000 * BUDGET_NS_PER_REPLY, abs=2 * late_ns)


def test_a_service_is_uneven_while_many_replies_are_late() -> None:
    estimate = learnt()
    assert any(replies(estimate, 30, late_ns=50 * MS)) and not estimate.is_uneven
    assert replies(estimate, 100, late_ns=50 * MS)[-1] == 0 and estimate.is_uneven
    replies(estimate, 600)
    assert not estimate.is_uneven


def uneven_estimate() -> ArrivalEstimate:
    estimate = learnt()
    replies(estimate, 200, late_ns=50 * MS)
    assert estimate.is_uneven
    return estimate


def test_what_was_written_in_a_silence_counts_from_its_end() -> None:
    estimate, last_ns = uneven_estimate(), SECOND_NS + 199 * MS
    end_ns = last_ns + 100 * MS
    for at_ns in range(last_ns, end_ns, MS):
        estimate.awake(at_ns)
    in_it_ns, before_ns = last_ns + 30 * MS, last_ns - 30 * MS
    assert estimate.counted_ns(in_it_ns, end_ns) == end_ns
    assert estimate.counted_ns(before_ns, end_ns + MS) is None
    assert estimate.counted_ns(end_ns + MS, end_ns + 60 * MS) is None


def test_while_this_process_stood_still_no_silence_shows_anything() -> None:
    estimate, last_ns = uneven_estimate(), SECOND_NS + 199 * MS
    estimate.awake(last_ns)
    assert estimate.counted_ns(last_ns + MS, last_ns + 100 * MS) is None


def test_a_standstill_before_a_skipped_reply_hides_no_silence_after_it() -> None:
    estimate, last_ns = uneven_estimate(), SECOND_NS + 199 * MS
    estimate.awake(last_ns)
    skipped_ns = last_ns + 100 * MS
    estimate.awake(skipped_ns)
    estimate.skip(skipped_ns)
    end_ns = skipped_ns + 90 * MS
    for at_ns in range(skipped_ns, end_ns, MS):
        estimate.awake(at_ns)
    assert estimate.counted_ns(skipped_ns + 30 * MS, end_ns) == end_ns


def test_a_short_silence_does_not_hide_the_long_one_before_it() -> None:
    estimate, last_ns = uneven_estimate(), SECOND_NS + 199 * MS
    end_ns = last_ns + 100 * MS
    for at_ns in range(last_ns, end_ns + 20 * MS, MS):
        estimate.awake(at_ns)
    assert estimate.counted_ns(last_ns + 30 * MS, end_ns) == end_ns
    assert estimate.counted_ns(last_ns + 60 * MS, end_ns + 20 * MS) == end_ns


@pytest.mark.parametrize(
    ("medians_ms", "usual_ms"),
    [
        pytest.param([500, 5], 5, id="a faster service at once"),
        pytest.param([5, *[500] * 80], 500, id="a hundredfold latency within eight seconds"),
        pytest.param([5, *[50, 5] * 200, 50], 5.04, id="stalls raise the median for a moment only"),
    ],
)
def test_the_usual_latency_falls_at_once_and_rises_slowly(medians_ms: list[int], usual_ms: float) -> None:
    estimate = ArrivalEstimate()
    for median_ms in medians_ms:
        estimate.learn(0, median_ms * MS, 1_000)
    assert estimate.usual_ns - USUAL_SPREAD_NS == pytest.approx(usual_ms * MS, rel=0.01)
