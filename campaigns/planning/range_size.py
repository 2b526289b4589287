"""How many recipients a range holds, from the campaign's size and its numbers' limits."""

from collections.abc import Sequence
from math import ceil

# A number claims one range at a time. A thousand recipients are 12 s of work at 80/s and one second at
# 1,000/s. Smaller ranges cost more rows; larger ones move to another number too late.
RANGE_SIZE = 1_000
# The slowest number of a campaign gets this many ranges. With fewer, some numbers would be idle, and all
# would wait for the slowest one at the end: with ranges of a thousand, only two of ten numbers would send a
# campaign of two thousand. The next two limits make ranges larger where this would cost too much.
RANGES_EACH = 10
RANGES_PER_S = 30  # of all numbers together; about 3 % of a core each in the process and in Postgres
SMALL_RANGES_MAX = 10_000  # of a campaign; closing it and its report read them all


def range_size(recipients: int, limits_per_s: Sequence[float]) -> int:
    """Recipients of a range, for a campaign that is sent through numbers with these limits."""
    if len(limits_per_s) == 1:
        return RANGE_SIZE
    together_per_s = sum(limits_per_s)
    of_the_slowest = min(limits_per_s) * recipients / together_per_s / RANGES_EACH
    affordable = max(together_per_s / RANGES_PER_S, recipients / SMALL_RANGES_MAX)
    return min(RANGE_SIZE, ceil(max(of_the_slowest, affordable)))
