"""Reply times in buckets: each time in its own, and percentiles that lie in the right one."""

import random

import pytest

from drumbeat.engine.core.reply_times import BOUNDS_MS, BUCKETS, bucket_of, percentile_ms

MS = 1_000_000


@pytest.mark.parametrize(
    ("duration_ns", "bucket"),
    [
        (0, 0),
        (MS, 0),
        (MS + 1, 1),
        (int(1.5 * MS), 1),
        (30_000 * MS, BUCKETS - 2),
        (90_000 * MS, BUCKETS - 1),
    ],
)
def test_each_time_has_its_bucket(duration_ns: int, bucket: int) -> None:
    assert bucket_of(duration_ns) == bucket


@pytest.mark.parametrize("share", [0.5, 0.99])
def test_a_percentile_is_that_of_the_times_give_or_take_a_bucket(share: float) -> None:
    chance = random.Random(1)
    times_ms = sorted(chance.lognormvariate(5.3, 0.5) for _ in range(5_000))
    counts = [0] * BUCKETS
    for time_ms in times_ms:
        counts[bucket_of(int(time_ms * MS))] += 1
    found = percentile_ms(counts, share)
    exact = times_ms[int(share * len(times_ms))]
    assert found is not None and exact / 1.5 <= found <= exact * 1.5


def test_too_few_tell_no_percentile_and_none_tell_nothing() -> None:
    counts = [0] * BUCKETS
    assert percentile_ms(counts, 0.5) is None
    counts[3] = 50
    assert percentile_ms(counts, 0.99) is None
    assert BOUNDS_MS[2] < (percentile_ms(counts, 0.5) or 0) <= BOUNDS_MS[3]
