"""What people are told of the service's words about numbers, templates and the account: each change once."""

from typing import Any

import pytest

from drumbeat.engine.core.service_news import (
    ACCOUNT,
    GOOD,
    RESTS,
    Fact,
    StoredFact,
    account_holds,
    account_words,
    facts_in,
    new_category,
    news_of,
)

TEMPLATE = {"message_template_name": "offer", "message_template_language": "pt_BR", "message_template_id": 1}
OFFER = "offer (pt_BR)"
READ = [
    ("message_template_quality_update", {"new_quality_score": "RED"}, (OFFER, Fact.TEMPLATE_QUALITY, "RED")),
    ("message_template_quality_update", {"new_quality_score": "green"}, (OFFER, Fact.TEMPLATE_QUALITY, "GREEN")),
    ("message_template_status_update", {"event": "FLAGGED"}, (OFFER, Fact.TEMPLATE_FLAG, "FLAGGED")),
    ("message_template_status_update", {"event": "reinstated"}, (OFFER, Fact.TEMPLATE_FLAG, "")),
    ("account_update", {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "DISABLE"}},
     (ACCOUNT, Fact.ACCOUNT, "DISABLED_UPDATE: DISABLE")),
    ("account_update", {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "REINSTATE"}},
     (ACCOUNT, Fact.ACCOUNT, GOOD)),
    ("account_update", {"event": "ACCOUNT_RESTRICTION", "restriction_info": [{"restriction_type": "R"}, 5]},
     (ACCOUNT, Fact.ACCOUNT, "ACCOUNT_RESTRICTION: R")),
    ("account_update", {"event": "SOMETHING_NEW"}, (ACCOUNT, Fact.ACCOUNT, "SOMETHING_NEW")),
    ("account_review_update", {"decision": "REJECTED"}, (ACCOUNT, Fact.REVIEW, "REJECTED")),
    ("account_review_update", {"decision": "approved"}, (ACCOUNT, Fact.REVIEW, GOOD)),
]  # fmt: skip
TOLD = [
    (Fact.QUALITY, "GREEN", "YELLOW", "quality_fell"),
    (Fact.QUALITY, "YELLOW", "RED", "quality_fell"),
    (Fact.QUALITY, "", "RED", "quality_fell"),
    (Fact.QUALITY, "GREEN", "PURPLE", "quality_fell"),
    (Fact.TIER, "TIER_10K", "TIER_2K", "tier_fell"),
    (Fact.TIER, "TIER_UNLIMITED", "tier_100k", "tier_fell"),
    (Fact.TIER, "TIER_10K", "TIER_HUGE", "tier_unknown"),
    (Fact.REST, "", RESTS, "number_rests"),
    (Fact.CATEGORY, "UTILITY", "MARKETING", "category_changed"),
    (Fact.CATEGORY, "MARKETING", "UTILITY", "category_changed"),
    (Fact.TEMPLATE_QUALITY, None, "RED", "template_quality_fell"),
    (Fact.TEMPLATE_QUALITY, "GREEN", "YELLOW", "template_quality_fell"),
    (Fact.TEMPLATE_FLAG, None, "FLAGGED", "template_flagged"),
    (Fact.ACCOUNT, None, "DISABLED_UPDATE: DISABLE", "account_warning"),
    (Fact.ACCOUNT, GOOD, "A_NEW_WORD", "account_warning"),
    (Fact.REVIEW, None, "REJECTED", "account_review"),
]
SILENT = [
    (Fact.QUALITY, "RED", "GREEN"),
    (Fact.QUALITY, "RED", "YELLOW"),
    (Fact.QUALITY, "GREEN", "UNKNOWN"),
    (Fact.QUALITY, "GREEN", ""),
    (Fact.TIER, "TIER_2K", "TIER_10K"),
    (Fact.TIER, "TIER_2K", "TIER_UNLIMITED"),
    (Fact.TIER, "TIER_2K", ""),
    (Fact.REST, RESTS, ""),
    (Fact.CATEGORY, "", "MARKETING"),
    (Fact.TEMPLATE_QUALITY, None, "GREEN"),
    (Fact.TEMPLATE_QUALITY, "RED", "GREEN"),
    (Fact.TEMPLATE_FLAG, "FLAGGED", ""),
    (Fact.ACCOUNT, "DISABLED_UPDATE", GOOD),
    (Fact.REVIEW, "REJECTED", GOOD),
]


@pytest.mark.parametrize(("field", "value", "fact"), READ)
def test_what_an_event_says(field: str, value: dict[str, Any], fact: tuple[str, Fact, str]) -> None:
    assert facts_in(field, {**TEMPLATE, **value}) == [fact]


@pytest.mark.parametrize(
    "value", [{}, {"event": 5}, {"event": None, "decision": []}, {"new_quality_score": {}}]
)
@pytest.mark.parametrize("field", sorted({field for field, *_ in READ}))
def test_an_event_without_its_word_says_nothing(field: str, value: dict[str, Any]) -> None:
    assert [fact for fact in facts_in(field, value) if fact.word not in ("", "5")] == []


@pytest.mark.parametrize(("fact", "before", "word", "code"), TOLD)
def test_what_gets_worse_is_told(fact: Fact, before: str | None, word: str, code: str) -> None:
    news = news_of(StoredFact("x", fact, word), "x", before)
    assert news is not None and news.code == code and news.words


@pytest.mark.parametrize(("fact", "before", "word"), SILENT)
def test_what_gets_better_is_not(fact: Fact, before: str | None, word: str) -> None:
    assert news_of(StoredFact("x", fact, word), "x", before) is None


@pytest.mark.parametrize(
    ("word", "holds"),
    [("DISABLED_UPDATE: DISABLE", True), ("ACCOUNT_RESTRICTION", True), (GOOD, False), ("PARTNER_REMOVED", False),
     ("A_NEW_WORD", False)],
)  # fmt: skip
def test_an_account_that_cannot_send_holds_its_campaigns(word: str, holds: bool) -> None:
    assert account_holds(word) is holds
    assert account_words(word)


def test_the_new_category_of_a_template() -> None:
    assert new_category({"previous_category": "UTILITY", "new_category": "marketing"}) == "MARKETING"
    assert new_category({"correct_category": "MARKETING"}) is None, "it is one to come"
