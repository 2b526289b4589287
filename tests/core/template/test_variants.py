"""People are divided among variants by their phones: the same way every time, in the shares that are asked."""

from collections import Counter

import pytest

from drumbeat.engine.core.template.variants import variant_chooser

PHONES = range(5511960000000, 5511960010000)


def shares(experiment: str, weights: list[int]) -> Counter[int]:
    return Counter(map(variant_chooser(experiment, weights), PHONES))


@pytest.mark.parametrize("experiment", ["spring", "summer", ""])
@pytest.mark.parametrize("weights", [[1, 1], [1, 1, 1], [9, 1], [3, 1]], ids=str)
def test_of_ten_thousand_each_variant_gets_its_share(experiment: str, weights: list[int]) -> None:
    found = shares(experiment, weights)
    for index, weight in enumerate(weights):
        share = weight / sum(weights)
        deviation = (10_000 * share * (1 - share)) ** 0.5
        assert abs(found[index] - 10_000 * share) < 4 * deviation  # missed once in 16,000 honest hashes


def test_the_division_never_changes_between_versions() -> None:
    choose = variant_chooser("spring", [1, 1])
    assert [choose(phone) for phone in PHONES[:16]] == EXPECTED


def test_two_experiments_divide_people_independently() -> None:
    first, second = variant_chooser("spring", [1, 1]), variant_chooser("summer", [1, 1])
    both = Counter((first(phone), second(phone)) for phone in PHONES)
    assert all(abs(count - 2_500) < 4 * (10_000 * 0.25 * 0.75) ** 0.5 for count in both.values())


def test_one_variant_gets_everybody() -> None:
    assert shares("spring", [5]) == Counter({0: 10_000})


EXPECTED = [1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0]
