"""How many recipients a range holds: small enough that all numbers work, large enough to cost nothing."""

from itertools import chain

import pytest

from campaigns.plan import RANGE_S_MIN, RANGE_SIZE, RANGES_EACH, range_size

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("recipients", "limits_per_s", "size", "why"),
    [
        (100 * MILLION, [80.0] * 20, 1_000, "a large campaign: every number takes hundreds"),
        (2_000, [80.0], 1_000, "a number of its own shares with nobody"),
        (10, [20.0], 1_000, "however slow it is"),
        (40_000, [80.0] * 10, 400, "ten ranges for each of ten numbers"),
        (2_000, [80.0] * 10, 80, "not less than a second's work"),
        (1, [80.0, 80.0], 80, "nor of hardly anybody"),
        (500, [0.5, 0.2], 36, "of slow numbers a few"),
        (5, [0.1, 0.1], 1, "and one at least"),
        (30_000, [1_000.0] * 32, 1_000, "fast numbers are done with a thousand in a second"),
        (9_000, [800.0, 20.0], 879, "by the fastest: a slow one hands its tail over"),
    ],
)
def test_the_size_of_a_range(recipients: int, limits_per_s: list[float], size: int, why: str) -> None:
    assert range_size(recipients, limits_per_s) == size, why


@pytest.mark.parametrize("numbers", [2, 5, 16, 64])
@pytest.mark.parametrize("limit_per_s", [20.0, 80.0, 250.0])
def test_every_number_has_work_where_there_is_work_for_all(numbers: int, limit_per_s: float) -> None:
    seconds = chain(range(2, 40), (100, 1_000))
    for recipients in (int(numbers * limit_per_s * s) for s in seconds):
        ranges = -(-recipients // range_size(recipients, [limit_per_s] * numbers))
        in_turns_s = -(-ranges // numbers) * range_size(recipients, [limit_per_s] * numbers) / limit_per_s
        assert in_turns_s <= recipients / numbers / limit_per_s * (1 + 1 / RANGES_EACH) + RANGE_S_MIN
        assert ranges >= min(numbers, recipients / RANGE_SIZE)
