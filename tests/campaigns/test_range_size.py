"""How many recipients a range holds: small enough that all numbers work, large enough to cost little."""

from math import ceil

import pytest

from campaigns.planning.range_size import RANGE_SIZE, RANGES_EACH, RANGES_PER_S, range_size

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
