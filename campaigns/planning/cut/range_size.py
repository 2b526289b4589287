"""The number of recipients in each range, by the campaign's size, its numbers' limits and its canary."""

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    """Return how many recipients a range has, for a campaign sent through numbers with these limits."""
    if len(limits_per_s) == 1:
        return RANGE_SIZE
    together_per_s = sum(limits_per_s)
    of_the_slowest = min(limits_per_s) * recipients / together_per_s / RANGES_EACH
    affordable = max(together_per_s / RANGES_PER_S, recipients / SMALL_RANGES_MAX)
    return min(RANGE_SIZE, ceil(max(of_the_slowest, affordable)))


@dataclass(frozen=True, slots=True)
class RangePlan:
    """The ranges of a campaign. `size` is that of a full range. `sizes` has, by chunk, how many recipients
    each range takes.

    The first `canary_ranges` ranges hold the canary; `canary_size` is that of a full one of them. `canaries`
    has, by chunk, how many of the recipients, the first of each chunk, are of the canary.
    """

    size: int
    sizes: list[list[int]]
    canary_ranges: int = 0
    canary_size: int = 0
    canaries: list[int] = field(default_factory=list)


def plan_ranges(chunks: Sequence[int], size: int, canary: int = 0, numbers: int = 1) -> RangePlan:
    """Return the ranges for chunks of so many recipients. The first `canary` recipients get ranges of their
    own, as many as there are `numbers`, so that each number sends a part.
    """
    canary_size, canary_ranges, sizes, heads = min(size, ceil(canary / numbers)), 0, [], []
    for recipients in chunks:
        head = min(canary, recipients)
        canary -= head
        heads.append(head)
        of_canary = _cut(head, canary_size)
        canary_ranges += len(of_canary)
        sizes.append([*of_canary, *_cut(recipients - head, size)])
    return RangePlan(size, sizes, canary_ranges, canary_size, heads)


def _cut(recipients: int, size: int) -> list[int]:
    """Return full ranges, and a smaller one for the rest."""
    if not recipients:
        return []
    full, rest = divmod(recipients, size)
    return [size] * full + ([rest] if rest else [])
