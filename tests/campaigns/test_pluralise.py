"""Counts in sentences."""

import pytest

from drumbeat.campaigns.pluralise import pluralise


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (0, ("row",), "0 rows"),
        (1, ("row",), "1 row"),
        (2_000, ("row",), "2,000 rows"),
        (1, ("row is", "rows are"), "1 row is"),
        (2, ("row is", "rows are"), "2 rows are"),
    ],
)
def test_one_has_its_own_word(count: int, words: tuple[str, ...], said: str) -> None:
    assert pluralise(count, *words) == said
