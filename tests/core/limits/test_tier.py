"""Messaging limits as the service names them: no word that is not understood means "no limit"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.limits.tier import LOWEST, PEOPLE_MAX, SaidTier, Tier, TierDoubt, parse_tier


@pytest.mark.parametrize(
    ("word", "tier"),
    [
        ("TIER_50", Tier(50)),
        ("TIER_250", Tier(250)),
        ("TIER_2K", Tier(2_000)),
        ("TIER_100K", Tier(100_000)),
        ("TIER_3M", Tier(3_000_000)),
        ("tier_1k", Tier(1_000)),
        ("TIER_UNLIMITED", Tier(None)),
        ("TIER_999999999999M", Tier(PEOPLE_MAX)),
        ("TIER_0", None),
        ("TIER_0K", None),
        ("TIER_", None),
        ("TIER_K", None),
        ("TIER_2KK", None),
        ("TIER_-1", None),
        ("TIER_1.5K", None),
        ("TIER_\u0662K", None),
        ("TIER_2K\n", None),
        (" TIER_2K", None),
        ("TIER_NOT_SET", None),
        ("UNLIMITED", None),
        ("TIER_" + "9" * 5_000, None),
        ("", None),
        (None, None),
    ],
)
def test_which_words_are_understood(word: str | None, tier: Tier | None) -> None:
    assert parse_tier(word) == tier


@pytest.mark.parametrize(
    ("word", "known", "holds", "doubt"),
    [
        ("TIER_2K", "TIER_10K", Tier(2_000), None),
        ("TIER_NEW", "TIER_2K", Tier(2_000), TierDoubt.UNKNOWN_WORD),
        ("TIER_NEW", "TIER_UNLIMITED", Tier(None), TierDoubt.UNKNOWN_WORD),
        ("TIER_NEW", None, LOWEST, TierDoubt.UNKNOWN_WORD),
        ("TIER_NEW", "TIER_OLD", LOWEST, TierDoubt.UNKNOWN_WORD),
        (None, "TIER_2K", Tier(2_000), TierDoubt.NOT_SAID),
        ("", "TIER_2K", Tier(2_000), TierDoubt.NOT_SAID),
        (None, None, None, None),
    ],
)
def test_what_holds_and_what_a_person_should_know(
    word: str | None, known: str | None, holds: Tier | None, doubt: TierDoubt | None
) -> None:
    said = SaidTier(word, known)
    assert (said.holds, said.doubt) == (holds, doubt)


@given(st.text(min_size=1) | st.text(min_size=1).map("TIER_{}".format), st.none() | st.text())
def test_no_word_lifts_a_limit_but_the_one_for_no_limit(word: str, known: str | None) -> None:
    """Whatever the service says, and whatever is stored of what it said before."""
    held = SaidTier(word, known).holds
    assert held is not None
    if "UNLIMITED" not in f"{word}{known}".upper():
        assert held.people is not None and 0 < held.people <= PEOPLE_MAX


@given(st.integers(1, PEOPLE_MAX // 1_000), st.sampled_from(["", "K"]))
def test_every_number_of_people_is_understood(people: int, unit: str) -> None:
    assert parse_tier(f"TIER_{people}{unit}") == Tier(people * (1_000 if unit else 1))
