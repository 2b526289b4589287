"""The words of the service about our numbers, templates and account, and the changes that people are told.

Law: a change is told once, when it comes. What was so before we looked for the first time is no change. A
word that is not in a table is told as it is: only a person can know what it means.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from drumbeat.engine.core.events.values import list_or_empty, read_words
from drumbeat.engine.core.limits.tier import parse_tier

ACCOUNT = ""  # the subject of what concerns the account
QUALITY_FIELD = "message_template_quality_update"
CATEGORY_FIELD = "template_category_update"
STATUS_FIELD = "message_template_status_update"
ACCOUNT_FIELD = "account_update"
REVIEW_FIELD = "account_review_update"


class Fact(StrEnum):
    """The kinds of facts. Stored: never renamed."""

    QUALITY = "quality"  # of a number
    TIER = "tier"
    REST = "rest"
    CATEGORY = "category"  # of a template
    TEMPLATE_QUALITY = "template_quality"
    TEMPLATE_FLAG = "template_flag"
    ACCOUNT = "account"
    REVIEW = "review"


class StoredFact(NamedTuple):
    """A fact: the number, the template `name (language)` or the account, and the service's present word."""

    subject: str
    fact: Fact
    word: str


class News(NamedTuple):
    """A change that people are told. `code` is for programs."""

    code: str
    words: str


_QUALITIES = {"GREEN": 3, "HIGH": 3, "YELLOW": 2, "MEDIUM": 2, "RED": 1, "LOW": 1}
_SILENT = frozenset({"", "UNKNOWN", "NA", "NONE"})  # the service does not know it yet
RESTS = "rests"
# Events about the account, in words. HOLDS: those after which nothing may be sent until a person acts.
_ACCOUNT_WORDS = {
    "DISABLED_UPDATE": "the service has disabled the account",
    "ACCOUNT_RESTRICTION": "the service has restricted the account",
    "ACCOUNT_VIOLATION": "the service reports that the account violates a policy",
    "PARTNER_REMOVED": "the account was taken from the app",
}
HOLDS = frozenset({"DISABLED_UPDATE", "ACCOUNT_RESTRICTION"})
_GOOD_STATES = frozenset({"REINSTATE", "REINSTATED"})
GOOD = "good"


def facts_in(field: str, value: Mapping[str, Any]) -> list[StoredFact]:
    """Return what an event says. The field and the value are those of the event's change."""
    name, language = (
        read_words(value.get("message_template_name")),
        read_words(value.get("message_template_language")),
    )
    template = f"{name} ({language})" if name and language else None
    event = (read_words(value.get("event")) or "").strip().upper()
    if field == QUALITY_FIELD and template and (word := read_words(value.get("new_quality_score"))):
        return [StoredFact(template, Fact.TEMPLATE_QUALITY, word.upper())]
    if field == STATUS_FIELD and template and event:
        return [StoredFact(template, Fact.TEMPLATE_FLAG, "FLAGGED" if event == "FLAGGED" else "")]
    if field == REVIEW_FIELD and (word := read_words(value.get("decision"))):
        return [StoredFact(ACCOUNT, Fact.REVIEW, GOOD if word.upper() == "APPROVED" else word.upper())]
    if field == ACCOUNT_FIELD and event:
        return [StoredFact(ACCOUNT, Fact.ACCOUNT, _account_word(event, value))]
    return []


def _account_word(event: str, value: Mapping[str, Any]) -> str:
    ban = value.get("ban_info")
    state = (read_words(ban.get("waba_ban_state")) or "").upper() if isinstance(ban, dict) else ""
    if state in _GOOD_STATES or event in ("VERIFIED_ACCOUNT", "ACCOUNT_REINSTATED"):
        return GOOD
    kinds = [
        read_words(part.get("restriction_type")) or ""
        for part in list_or_empty(value.get("restriction_info"))
        if isinstance(part, dict)
    ]
    details = ", ".join(filter(None, [state, *kinds]))
    return f"{event}: {details}" if details else event


def new_category(value: Mapping[str, Any]) -> str | None:
    """Return the category that a template has now, by the event `template_category_update`."""
    word = read_words(value.get("new_category"))
    return None if not word else word.upper()


def account_holds(word: str) -> bool:
    """Return whether nothing can be sent while the account has this word."""
    return word.partition(":")[0] in HOLDS


def account_words(word: str) -> str:
    """Return what a word about the account means, in words for people."""
    event, _, details = word.partition(":")
    known = _ACCOUNT_WORDS.get(event, f"the service says of the account: {event}")
    return f"{known} ({details.strip()})" if details else known


def is_bad_quality(word: str | None) -> bool:
    """Return whether a quality is less than the best one that is known."""
    return 0 < _QUALITIES.get((word or "").upper(), 0) < _QUALITIES["GREEN"]


def news_of(stored: StoredFact, name: str, before: str | None) -> News | None:
    """Return what people are told when a fact changed from the word `before`; None for nothing. `name` is
    that of the subject for people.
    """
    word = stored.word
    match stored.fact:
        case Fact.QUALITY:
            return _fallen("quality_fell", f"the quality of number {name}", before, word)
        case Fact.TEMPLATE_QUALITY:
            return _fallen(
                "template_quality_fell", f"the quality of template {name}", before or "GREEN", word
            )
        case Fact.TIER:
            return _of_tier(name, before, word)
        case Fact.REST:
            words = f"the service lets number {name} rest for some hours"
            return News("number_rests", words) if word == RESTS else None
        case Fact.CATEGORY:
            change = f"template {name} moved from {before} to {word}"
            words = f"{change}: its price and the consent that it needs may be others"
            return News("category_changed", words) if before and word else None
        case Fact.TEMPLATE_FLAG:
            words = f"the service flags template {name}: its quality is low, and it may soon be paused"
            return News("template_flagged", words) if word else None
        case Fact.REVIEW:
            words = f"the service has reviewed the account: {word}"
            return None if word == GOOD else News("account_review", words)
        case Fact.ACCOUNT:
            return None if word == GOOD else News("account_warning", account_words(word))


def _fallen(code: str, of: str, before: str | None, word: str) -> News | None:
    was, now = _QUALITIES.get((before or "").upper()), _QUALITIES.get(word.upper())
    if word.upper() in _SILENT or (was is not None and now is not None and now >= was):
        return None
    since = f" from {before}" if before and before.upper() not in _SILENT else ""
    if now is None:
        return News(code, f"{of} changed{since} to {word}, a word that is not known")
    return None if now == _QUALITIES["GREEN"] else News(code, f"{of} fell{since} to {word}")


def _of_tier(name: str, before: str | None, word: str) -> News | None:
    was, now = parse_tier(before), parse_tier(word)
    if not word:
        return None
    if now is None:
        return News(
            "tier_unknown", f"the messaging limit of number {name} is {word}, a word that is not known"
        )
    if was is None or now.people is None or (was.people is not None and now.people >= was.people):
        return None
    return News("tier_fell", f"the messaging limit of number {name} fell from {before} to {word}")
