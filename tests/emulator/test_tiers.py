"""Messaging limits between the steps of growth, as some services give them."""

import pytest

from drumbeat.emulator.clock import SECOND_NS
from drumbeat.emulator.config import ConfigError, NumberConfig
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.tiers import DAY_NS, Tiers, limit_of


@pytest.mark.parametrize(
    ("word", "people"),
    [("TIER_50", 50), ("TIER_2K", 2_000), ("TIER_1M", 1_000_000), ("TIER_UNLIMITED", None)],
)
def test_a_word_names_a_limit(word: str, people: int | None) -> None:
    assert limit_of(word) == people
    assert NumberConfig("1", 80, tier=word).tier == word


@pytest.mark.parametrize("word", ["TIER_NEW", "TIER_0", "TIER_2KK", "TIER_2K\n", "tier_2k", "", "UNLIMITED"])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(ValueError, match="a messaging limit is"):
        limit_of(word)
    with pytest.raises(ConfigError, match="number 1: a messaging limit is"):
        NumberConfig("1", 80, tier=word)


@pytest.mark.parametrize(
    ("word", "above", "below"),
    [
        ("TIER_50", "TIER_250", "TIER_50"),
        ("TIER_2K", "TIER_10K", "TIER_1K"),
        ("TIER_1M", "TIER_UNLIMITED", "TIER_100K"),
    ],
)
def test_a_limit_between_the_steps_grows_and_falls_to_the_next_one(word: str, above: str, below: str) -> None:
    tiers = Tiers(word)
    assert tiers.lower() == below
    limit = limit_of(word)
    assert limit is not None
    if limit > 2_000:
        return  # so many people cost a test too much
    for recipient in range(limit):
        tiers.check(recipient, SECOND_NS)
        tiers.count(recipient, SECOND_NS)
    with pytest.raises(Refused):
        tiers.check(limit, SECOND_NS)
    assert tiers.earned(DAY_NS + 2 * SECOND_NS, verified=True) == above
