"""The pace by the times of writing: never above the limit in any second, and not below it for long."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.pace.token_bucket import (
    BURST_NS,
    FIRST_SECOND,
    GUARD_SPARE_NS,
    HEADROOM,
    LIMIT_PER_S_MAX,
    LIMIT_PER_S_MIN,
    RING_SPARE,
    SLACK_NS,
    TokenBucket,
)
from drumbeat.engine.core.units import SECOND_NS

START_NS = 7_000_000_000_000_000_003  # a machine up for two centuries: floats would lose nanoseconds
MS = 1_000_000


def run(bucket: TokenBucket, now_ns: int, seconds: float, lateness_ns: Callable[[], int]) -> list[int]:
    """Write whenever permitted, each wake-up a little late; the times of writing."""
    writes = []
    end_ns = now_ns + int(seconds * SECOND_NS)
    while now_ns < end_ns:
        if bucket.take(now_ns):
            writes.append(now_ns)
        else:
            now_ns += bucket.wait_ns(now_ns) + lateness_ns()
    return writes


def most_in_a_second(writes: list[int], window_ns: int = SECOND_NS) -> int:
    """The largest number of writes in any half-open window that begins with a write."""
    most = begin = 0
    for end, time in enumerate(writes):
        while time - writes[begin] >= window_ns:
            begin += 1
        most = max(most, end - begin + 1)
    return most


ON_TIME, LATE, ALWAYS_LATE, STALLS = (
    "on time",
    "up to 1 ms late",
    "always 1 ms late",
    "a 20 ms stall each second",
)
LATENESS_NS: dict[str, Callable[[random.Random], int]] = {
    ON_TIME: lambda chance: 0,
    LATE: lambda chance: chance.randrange(MS + 1),
    ALWAYS_LATE: lambda chance: MS,
    STALLS: lambda chance: 20 * MS if chance.random() < 0.001 else chance.randrange(MS),
}


@pytest.mark.parametrize(
    ("limit", "lateness", "seconds", "least"),
    [
        *[(limit, late, 200, 0.99) for limit in (1, 5) for late in (ON_TIME, LATE)],
        *[(limit, late, 20, 0.99) for limit in (80, 250, 1_000, 5_000) for late in (ON_TIME, LATE)],
        (80, ALWAYS_LATE, 20, 0.99),
        (1_000, STALLS, 20, 0.975),
        (0.5, ON_TIME, 200, 0.99),
    ],
)
def test_the_rate_is_reached_and_never_exceeded(
    limit: float, lateness: str, seconds: int, least: float
) -> None:
    chance, bucket = random.Random(3), TokenBucket(limit, START_NS)
    writes = run(bucket, START_NS, seconds, lambda: LATENESS_NS[lateness](chance))
    assert most_in_a_second(writes, int(SECOND_NS / min(1, limit))) <= max(1, limit)
    assert len(writes) >= least * limit * seconds - (1 - FIRST_SECOND) * limit - 1
    assert len(writes) <= HEADROOM * limit * seconds + SLACK_NS * limit / SECOND_NS + 1


def test_a_stall_is_made_up_for_at_twice_the_pace_up_to_the_slack() -> None:
    bucket = TokenBucket(1_000, START_NS)
    before = run(bucket, START_NS, 3, lambda: 0)
    now_ns = before[-1] + 500 * MS
    after = run(bucket, now_ns, 2, lambda: 0)
    assert after.count(now_ns) == 1 + int(2 * BURST_NS * HEADROOM / MS)
    soon = [time for time in after if time < now_ns + SLACK_NS // 2]
    assert len(soon) == pytest.approx((2 * SLACK_NS // 2 + 2 * BURST_NS) / MS, abs=2)
    assert 2_000 * HEADROOM < len(after) <= 2_000


def test_a_pause_is_not_made_up_for_and_a_first_second_follows_it() -> None:
    bucket = TokenBucket(1_000, START_NS)
    now_ns = run(bucket, START_NS, 3, lambda: 0)[-1] + 2 * SECOND_NS
    after = run(bucket, now_ns, 3, lambda: 0)
    assert after.count(now_ns) == 1
    first = [time for time in after if time < now_ns + SECOND_NS // 2]
    assert len(first) == pytest.approx(500 * HEADROOM * FIRST_SECOND, abs=2)
    last = [time for time in after if time >= now_ns + 2 * SECOND_NS]
    assert len(last) == pytest.approx(1_000 * HEADROOM, abs=2)


def test_a_new_bucket_is_empty_and_a_refused_write_changes_nothing() -> None:
    bucket = TokenBucket(10, START_NS)
    wait_ns = bucket.wait_ns(START_NS)
    assert wait_ns == pytest.approx(SECOND_NS / 10 / HEADROOM, rel=1e-6)
    assert [bucket.take(START_NS + late) for late in range(0, wait_ns, wait_ns // 7)][:7] == [False] * 7
    assert bucket.take(START_NS + wait_ns)


def test_a_lowered_limit_counts_the_writes_of_the_second_before() -> None:
    bucket = TokenBucket(1_000, START_NS)
    before = run(bucket, START_NS, 3, lambda: 0)
    bucket.set_limit(100, before[-1])
    after = run(bucket, before[-1], 5, lambda: 0)
    for time in after:
        assert sum(time - SECOND_NS < write <= time for write in before + after) <= 100
    assert after[0] - before[-1] < SECOND_NS
    assert len(after) >= 0.98 * 100 * 4


@pytest.mark.parametrize("written", [False, True])
def test_a_raised_limit_acts_within_one_interval_of_the_new_pace(written: bool) -> None:
    bucket, now_ns = TokenBucket(0.1, START_NS), START_NS
    if written:
        now_ns += bucket.wait_ns(now_ns)
        assert bucket.take(now_ns)
    bucket.set_limit(1_000, now_ns)
    assert bucket.wait_ns(now_ns) <= 2 * MS
    assert len(run(bucket, now_ns, 2, lambda: 0)) >= 1_980 - (1 - FIRST_SECOND) * 1_000


def test_permits_are_counted_and_the_last_one_has_its_time() -> None:
    bucket = TokenBucket(80, START_NS)
    writes = run(bucket, START_NS, 0.5, lambda: 0)
    assert not bucket.take(writes[-1])
    assert (bucket.writes, bucket.last_ns, bucket.limit_per_s) == (len(writes), writes[-1], 80)


def test_in_a_hold_nothing_is_written_whatever_was_due_or_is_set() -> None:
    bucket, held_ns = TokenBucket(80, START_NS), START_NS + 3 * SECOND_NS
    due_ns = START_NS + bucket.wait_ns(START_NS)
    bucket.hold_until(held_ns)
    bucket.set_limit(1_000, START_NS)
    bucket.set_rate(500, START_NS)
    assert bucket.wait_ns(START_NS) == 3 * SECOND_NS
    assert not bucket.take(due_ns) and not bucket.take(held_ns - 1)
    assert bucket.available(held_ns - 1) == 0
    assert 1 <= len(run(bucket, held_ns, 0.1, lambda: 0)) <= 60


def test_a_rate_is_cut_to_the_headroom_of_its_limit() -> None:
    bucket = TokenBucket(80, START_NS)
    bucket.set_rate(1_000, START_NS)
    assert bucket.rate_per_s == 80 * HEADROOM
    bucket.set_rate(20, START_NS)
    assert len(run(bucket, START_NS, 10, lambda: 0)) in (199, 200, 201)


@pytest.mark.parametrize(
    "limit", [0, -1, float("nan"), float("inf"), LIMIT_PER_S_MAX * 2, 1e300, LIMIT_PER_S_MIN / 2, 1e-300]
)
def test_limits_out_of_bounds_and_rates_below_zero_are_refused(limit: float) -> None:
    with pytest.raises(ValueError, match="limit"):
        TokenBucket(limit, START_NS)
    with pytest.raises(ValueError, match="rate"):
        TokenBucket(5, START_NS).set_rate(min(0, limit), START_NS)


steps_ns = st.lists(
    st.one_of(st.integers(0, 3 * MS), st.integers(0, 100 * MS), st.just(0), st.integers(0, 3 * SECOND_NS)),
    min_size=1,
    max_size=400,
)


@given(st.floats(0.2, 60), steps_ns)
def test_no_pattern_of_calls_exceeds_the_limit(limit: float, steps: list[int]) -> None:
    bucket, now_ns, writes = TokenBucket(limit, START_NS), START_NS, []
    for step in steps:
        now_ns += step
        while bucket.take(now_ns):
            writes.append(now_ns)
    window_ns = SECOND_NS if limit >= 1 else int(SECOND_NS / limit)
    assert most_in_a_second(writes, window_ns) <= max(1, limit)


@given(st.lists(st.tuples(st.floats(1, 50), st.integers(0, 2 * SECOND_NS)), min_size=1, max_size=12))
def test_no_change_of_limits_lets_a_second_exceed_the_limit_at_its_last_write(
    changes: list[tuple[float, int]],
) -> None:
    bucket, now_ns, writes = TokenBucket(50, START_NS), START_NS, []
    for limit, lasting_ns in changes:
        bucket.set_limit(limit, now_ns)
        for _ in range(200):
            now_ns += lasting_ns // 200
            while bucket.take(now_ns):
                writes.append(now_ns)
                assert sum(now_ns - SECOND_NS < write for write in writes) <= limit


@given(st.integers(1, 400), st.integers(0, 5 * SECOND_NS), st.integers(0, 300 * MS))
def test_after_a_stall_at_most_the_slack_comes_at_once(limit: int, stall_ns: int, span_ns: int) -> None:
    bucket = TokenBucket(limit, START_NS)
    now_ns = START_NS + stall_ns
    end_ns, writes = now_ns + span_ns, 0
    while now_ns <= end_ns:
        writes += bucket.take(now_ns)
        now_ns += max(bucket.wait_ns(now_ns), 1)
    assert writes <= 1 + (SLACK_NS + span_ns) * limit * HEADROOM / SECOND_NS


@pytest.mark.parametrize("stall_ms", [0, 1, 2, 4, 6, 50])
def test_what_is_available_is_what_can_be_taken_at_once(stall_ms: int) -> None:
    bucket = TokenBucket(1_000, START_NS)
    now_ns = START_NS + bucket.wait_ns(START_NS) + stall_ms * MS
    available = bucket.available(now_ns)
    assert [bucket.take(now_ns) for _ in range(available + 1)] == [True] * available + [False]
    assert bucket.available(now_ns) == 0


def test_the_guard_alone_holds_the_limit_also_where_it_is_raised() -> None:
    """A slack of ten seconds takes the schedule out of the way."""
    bucket = TokenBucket(5, START_NS, slack_ns=10 * SECOND_NS, burst_ns=10 * SECOND_NS)
    now_ns = START_NS + 10 * SECOND_NS
    assert sum(bucket.take(now_ns) for _ in range(20)) == 5
    bucket.set_limit(8, now_ns)
    assert sum(bucket.take(now_ns + SECOND_NS // 2) for _ in range(20)) == 3
    assert sum(bucket.take(now_ns + SECOND_NS) for _ in range(20)) == 0
    assert sum(bucket.take(now_ns + SECOND_NS + GUARD_SPARE_NS) for _ in range(20)) == 5


@given(
    limit=st.sampled_from([5, 80, 1_000]),
    stalls=st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 300)), max_size=5),
)
def test_a_request_that_arrived_late_counts_from_its_arrival(
    limit: int, stalls: list[tuple[int, int]]
) -> None:
    """The service counts arrivals: none of its seconds holds more than the limit, whenever it stalls."""
    bucket, now_ns = TokenBucket(limit, START_NS), START_NS
    arrivals: list[int] = []
    for after_ms, length_ms in stalls:
        arrivals += run(bucket, now_ns, after_ms / 1_000, lambda: 0)
        now_ns += after_ms * MS
        held_up = run(bucket, now_ns, length_ms / 1_000, lambda: 0)
        now_ns += length_ms * MS
        for written_ns in held_up:
            bucket.count_from_arrival(written_ns, now_ns)
        arrivals += [now_ns] * len(held_up)
    arrivals += run(bucket, now_ns, 2.0, lambda: 0)
    assert most_in_a_second(arrivals) <= limit


@given(st.integers(1, 50), st.lists(st.tuples(st.integers(0, 100 * MS), st.integers(0, 40)), max_size=300))
def test_no_late_arrival_lets_a_second_exceed_the_limit(limit: int, steps: list[tuple[int, int]]) -> None:
    """Neither by the times of writing nor by those that count."""
    bucket, now_ns = TokenBucket(limit, START_NS, slack_ns=SECOND_NS, burst_ns=SECOND_NS), START_NS
    writes: list[int] = []
    counted: dict[int, int] = {}
    for step_ns, back in steps:
        now_ns += step_ns
        while bucket.take(now_ns):
            writes.append(now_ns)
            counted[len(writes)] = now_ns
            now_ns += 1
        late = len(writes) - back
        if late > 0 and counted[late] == writes[late - 1]:
            counted[late] = now_ns
            bucket.count_from_arrival(writes[late - 1], now_ns)
    assert most_in_a_second(writes) <= limit
    assert most_in_a_second(sorted(counted.values())) <= limit


@pytest.mark.parametrize("seed", range(3))
def test_changing_limits_late_arrivals_and_a_truncated_ring_keep_every_second(seed: int) -> None:
    """By the limit of its last write; more writes than the ring holds places and spare."""
    chance, now_ns = random.Random(seed), START_NS
    bucket, limit = TokenBucket(1_500, now_ns), 1_500.0
    writes: list[int] = []
    while len(writes) < 3 * RING_SPARE:
        if chance.random() < 0.002:
            limit = float(chance.choice([5, 80, 250, 1_000, 1_500]))
            bucket.set_limit(limit, now_ns)
        now_ns += chance.randrange(3 * MS)
        while bucket.take(now_ns):
            writes.append(now_ns)
            assert bisect_right(writes, now_ns) - bisect_right(writes, now_ns - SECOND_NS) <= limit
            now_ns += 1
        if writes and chance.random() < 0.2:
            bucket.count_from_arrival(writes[-min(len(writes), chance.randrange(1, 60))], now_ns)


def test_a_single_late_arrival_costs_no_pace() -> None:
    bucket, other = TokenBucket(1_000, START_NS), TokenBucket(1_000, START_NS)
    writes = run(bucket, START_NS, 1.5, lambda: 0)
    assert run(other, START_NS, 1.5, lambda: 0) == writes
    bucket.count_from_arrival(writes[-400], writes[-200])
    after, plain = (run(tested, writes[-1] + MS, 2, lambda: 0) for tested in (bucket, other))
    assert max(later - sooner for later, sooner in zip(after, plain, strict=False)) <= 2 * MS


def test_the_arrival_of_an_unknown_or_old_write_changes_nothing() -> None:
    bucket, other = TokenBucket(10, START_NS), TokenBucket(10, START_NS)
    writes = run(bucket, START_NS, 0.95, lambda: 0)
    assert run(other, START_NS, 0.95, lambda: 0) == writes
    bucket.count_from_arrival(START_NS - SECOND_NS, writes[-1])
    bucket.count_from_arrival(writes[-1] + 1, writes[-1] + 500 * MS)
    assert run(bucket, writes[-1], 2, lambda: 0) == run(other, writes[-1], 2, lambda: 0)
