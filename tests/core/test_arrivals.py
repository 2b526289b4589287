"""What replies tell of arrivals: stalls throttle nobody, and a service that is uneven by nature costs no pace."""

from __future__ import annotations

import random
from math import log

import pytest

from engine.core.arrivals import ADDED_NS_MEAN, ALLOWED_NS_MIN, HELD_UP_NS_MAX, SAVED_S, Arrivals
from engine.core.bucket import SECOND_NS
from tests.core.distant_service import MS, Delay, DistantService

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
    told = [
        DistantService(limit, work=steady(latency_ms), stalls=stalls(seed)).run(SECONDS) for seed in range(3)
    ]
    untold = DistantService(limit, work=steady(latency_ms), stalls=stalls(0), told=False).run(SECONDS)
    assert sum(seen.throttled for seen in told) <= max(2, sum(seen.written for seen in told) / 2_000)
    assert untold.throttled > 0.01 * untold.written, "these stalls are felt"
    assert min(seen.reached for seen in told) >= 0.985
    assert max(seen.most_written for seen in told) <= limit


@pytest.mark.parametrize("limit", [20, 1_000])
@pytest.mark.parametrize("work", [uneven(50, 0.5), uneven(200, 0.8), uneven(100, 1.2), uneven(500, 0.3)])
def test_a_service_that_takes_its_time_unevenly_keeps_the_pace(limit: int, work: Delay) -> None:
    seen = DistantService(limit, work=work).run(3 * SECONDS)
    assert seen.reached >= 0.99 - 1 / limit / SECONDS
    assert seen.throttled == 0


def test_what_is_lost_on_the_way_and_sent_again_throttles_nobody() -> None:
    def way(chance: random.Random) -> int:
        return 20 * MS + chance.randrange(2 * MS) + (200 * MS if chance.random() < 0.005 else 0)

    seen = DistantService(20, work=steady(50), way=way, seed=3).run(10 * SECONDS)
    untold = DistantService(20, work=steady(50), way=way, seed=3, told=False).run(10 * SECONDS)
    assert 4 * seen.throttled < untold.throttled
    assert seen.reached >= 0.99


def looked(limit: float = 1_000, latency_ms: int = 5) -> Arrivals:
    arrivals = Arrivals()
    arrivals.look(0, latency_ms * MS, limit)
    return arrivals


def held_up(arrivals: Arrivals, latency_ns: int) -> bool:
    return arrivals.counted_ns(SECOND_NS, SECOND_NS + latency_ns) is not None


def test_a_request_counts_from_its_reply_less_what_is_usual() -> None:
    arrivals = looked()
    assert arrivals.counted_ns(SECOND_NS, SECOND_NS + 40 * MS) == SECOND_NS + 35 * MS - ALLOWED_NS_MIN


def test_nothing_is_told_before_a_latency_is_known() -> None:
    arrivals = Arrivals()
    arrivals.look(0, 0, 1_000)
    assert arrivals.usual_ns > 3_600 * SECOND_NS


def test_a_reply_tells_by_as_much_as_it_is_later_than_usual_and_no_pause_does() -> None:
    arrivals = looked()
    assert arrivals.usual_ns == 5 * MS + ALLOWED_NS_MIN
    assert not held_up(arrivals, arrivals.usual_ns)
    assert held_up(arrivals, arrivals.usual_ns + 1)
    assert not held_up(arrivals, arrivals.usual_ns + HELD_UP_NS_MAX + 1)


def test_no_more_is_believed_than_the_ration() -> None:
    arrivals, late_ns = looked(limit=100), 50 * MS
    believed = late_ns * sum(held_up(arrivals, arrivals.usual_ns + late_ns) for _ in range(1_000))
    assert 0 <= believed - 100 * SAVED_S * ADDED_NS_MEAN < late_ns
    arrivals.look(1_000, 5 * MS, 100)
    assert arrivals.usual_ns == 5 * MS + 2 * ALLOWED_NS_MIN, "only what is later still"
    assert held_up(arrivals, arrivals.usual_ns + late_ns), "each reply brings its share"
    for look in range(100):
        arrivals.look(1_000 + 100 * look, 5 * MS, 100)
    assert arrivals.usual_ns == 5 * MS + ALLOWED_NS_MIN


def test_what_is_usual_follows_a_faster_service_at_once_and_a_slower_one_in_seconds() -> None:
    arrivals = looked(latency_ms=500)
    arrivals.look(1, 5 * MS, 1_000)
    assert arrivals.usual_ns == 5 * MS + ALLOWED_NS_MIN
    for _ in range(100):
        arrivals.look(1, 500 * MS, 1_000)
    assert arrivals.usual_ns == 500 * MS + ALLOWED_NS_MIN


def test_medians_that_stalls_raise_for_a_moment_do_not_change_what_is_usual() -> None:
    """What comes that late after its write is believed to have been held up."""
    arrivals = looked()
    for _ in range(200):
        arrivals.look(1, 50 * MS, 1_000)
        arrivals.look(1, 5 * MS, 1_000)
    arrivals.look(1, 50 * MS, 1_000)
    assert arrivals.usual_ns < 5.1 * MS + ALLOWED_NS_MIN


def test_without_replies_an_allowance_does_not_grow_for_ever() -> None:
    arrivals = looked(limit=1)
    assert held_up(arrivals, arrivals.usual_ns + HELD_UP_NS_MAX), "all that one message a second may save up"
    for _ in range(1_000):
        arrivals.look(0, 5 * MS, 1)
    assert arrivals.usual_ns == 5 * MS + HELD_UP_NS_MAX
