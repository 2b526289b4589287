"""The reply times of requests, counted in buckets that grow by half: small, and exact for percentiles."""

from bisect import bisect_left
from collections.abc import Sequence

# From 1 ms to 33 s, in milliseconds; after 30 s without a reply a request ends.
BOUNDS_MS = tuple(round(1.5**step, 3) for step in range(27))
_BOUNDS_NS = tuple(int(bound_ms * 1e6) for bound_ms in BOUNDS_MS)
BUCKETS = len(BOUNDS_MS) + 1  # the last one is of those above the last bound


def bucket_of(duration_ns: int) -> int:
    """Return the bucket of a reply that took so long."""
    return bisect_left(_BOUNDS_NS, duration_ns)


def percentile_ms(counts: Sequence[int], share: float) -> float | None:
    """Return the reply time that this share of the replies did not exceed, between the bounds of its bucket.

    None if there are too few replies for it: the slowest of ten says nothing of one in a hundred.
    """
    total = sum(counts)
    if total * (1 - share) < 1:
        return None
    wanted, before = share * total, 0
    for bucket, count in enumerate(counts):
        if before + count >= wanted:
            low_ms = BOUNDS_MS[bucket - 1] if bucket else 0.0
            high_ms = BOUNDS_MS[min(bucket, len(BOUNDS_MS) - 1)]
            return low_ms + (high_ms - low_ms) * (wanted - before) / count
        before += count
    return None
