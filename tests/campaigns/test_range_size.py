"""How many recipients a range holds: small enough that all numbers work, large enough to cost little."""

from math import ceil

import pytest

from drumbeat.campaigns.planning.cut.range_size import (
    RANGE_SIZE,
    RANGES_EACH,
    RANGES_PER_S,
    plan_ranges,
    range_size,
)

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("recipients", "limits_per_s", "size", "why"),
    [
        (100 * MILLION, [80.0] * 20, 1_000, "a large campaign: every number takes hundreds"),
        (2_000, [80.0], 1_000, "a number of its own shares with nobody"),
        (10, [20.0], 1_000, "however slow it is"),
        (40_000, [80.0] * 10, 400, "ten ranges for each of ten numbers"),
        (2_000, [80.0] * 10, 27, "thirty ranges a second of all together"),
        (1, [80.0, 80.0], 6, "also of hardly anybody"),
        (500, [0.5, 0.2], 15, "ten for the slower one"),
        (5, [0.1, 0.1], 1, "and one recipient at least"),
        (30_000, [1_000.0] * 32, 1_000, "fast numbers are done with a thousand in a second"),
        (90_000, [800.0, 20.0], 220, "a slow number beside a fast one has ten, too"),
        (9_000, [800.0, 20.0], 28, "and a second's work where all is soon over"),
        (MILLION, [1_000.0, 0.1], 100, "but not for millions of ranges"),
        (100 * MILLION, [1_000.0, 0.1], 1_000, "nor any smaller ones then"),
    ],
)
def test_the_size_of_a_range(recipients: int, limits_per_s: list[float], size: int, why: str) -> None:
    assert range_size(recipients, limits_per_s) == size, why


@pytest.mark.parametrize("numbers", [2, 5, 16, 64])
@pytest.mark.parametrize("limit_per_s", [20.0, 80.0, 250.0])
def test_no_number_works_much_longer_than_its_share(numbers: int, limit_per_s: float) -> None:
    together_per_s = numbers * limit_per_s
    for share_s in (0.5, *range(1, 40), 100, 1_000):
        recipients = int(together_per_s * share_s)
        size = range_size(recipients, [limit_per_s] * numbers)
        ranges = ceil(recipients / size)
        most_ranges = ceil(ranges / numbers)
        longer_s = most_ranges * size / limit_per_s - share_s
        assert longer_s <= max(share_s / RANGES_EACH, numbers / RANGES_PER_S) + 1 / limit_per_s
        assert size == RANGE_SIZE or together_per_s / size <= RANGES_PER_S


@pytest.mark.parametrize(
    ("chunks", "canary", "numbers", "sizes", "canary_ranges", "why"),
    [
        ([25], 0, 2, [[10, 10, 5]], 0, "without a canary, full ranges"),
        ([25], 7, 1, [[7, 10, 8]], 1, "the canary has ranges of its own, and exactly its recipients"),
        ([25], 7, 2, [[4, 3, 10, 8]], 2, "one for each number"),
        ([25], 24, 2, [[10, 10, 4, 1]], 3, "none larger than others"),
        ([5, 0, 25], 7, 1, [[5], [], [2, 10, 10, 3]], 2, "over chunks"),
        ([5], 7, 1, [[5]], 1, "a canary may be everybody"),
    ],
)
def test_the_first_ranges_hold_the_canary_and_nobody_else(
    chunks: list[int], canary: int, numbers: int, sizes: list[list[int]], canary_ranges: int, why: str
) -> None:
    plan = plan_ranges(chunks, 10, canary, numbers)
    assert (plan.sizes, plan.canary_ranges) == (sizes, canary_ranges), why
