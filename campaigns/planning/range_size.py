"""How many recipients a range holds: arithmetic of a campaign's size and its numbers' limits."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

# A range is what a number takes at once: at 80/s a thousand are 12 s of work, at 1,000/s one second; a
# smaller one costs rows of bookkeeping, a larger one is late to move to another number.
RANGE_SIZE = 1_000
# Numbers that share a campaign take so many each, the slowest of them too, or some would have nothing to do
# while others send, and the rest wait for the slowest in the end: with ranges of a thousand, two of ten
# numbers would send a campaign of two thousand. Where that is too dear, ranges are larger:
RANGES_EACH = 10
RANGES_PER_S = 30  # of all numbers together; some 3 % of a core, of the process and of Postgres
SMALL_RANGES_MAX = 10_000  # of a campaign: closing it, or its report, goes through all


def range_size(recipients: int, limits_per_s: Sequence[float]) -> int:
    """How many recipients a range holds, of a campaign that is sent through numbers of these limits."""
    if len(limits_per_s) == 1:
        return RANGE_SIZE
    together_per_s = sum(limits_per_s)
    of_the_slowest = min(limits_per_s) * recipients / together_per_s / RANGES_EACH
    affordable = max(together_per_s / RANGES_PER_S, recipients / SMALL_RANGES_MAX)
    return min(RANGE_SIZE, ceil(max(of_the_slowest, affordable)))
