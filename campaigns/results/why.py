"""The explanation of a campaign's state: what it waits for, who stopped it, where, and until when.

The words of each language are in `texts`. Commands, JSON and pages show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from drumbeat.campaigns.results.number_progress import NumberProgress, WaitingGroup
from drumbeat.campaigns.texts import Texts, words_of
from drumbeat.engine.core.limits.sending_hours import wait_of
from drumbeat.engine.core.service_news import GOOD, Fact, StoredFact, is_bad_quality
from drumbeat.engine.core.states import WAITS, CampaignState, ReasonCode

_ENDED = frozenset({CampaignState.FINISHED, CampaignState.CANCELLED, CampaignState.EXPIRED})


class Person(NamedTuple):
    """A person who did something to a campaign, and when."""

    actor: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Why:
    """One thing that keeps a campaign, or one of its numbers, from sending at full speed.

    `words` are in English. `code` and `values` make the words of other languages. `is_reason` tells that it
    is the reason for the campaign's state; otherwise the campaign goes on.
    """

    code: str
    words: str
    values: Mapping[str, Any]
    is_reason: bool

    def in_words(self, texts: Texts) -> str:
        return _words(self.code, self.values, texts)


def _why(code: str, *, is_reason: bool = False, **values: Any) -> Why:
    return Why(code, _words(code, values, _english()), values, is_reason)


def _words(code: str, values: Mapping[str, Any], texts: Texts) -> str:
    return texts(f"why.{code}", **{name: _shown(name, value, texts) for name, value in values.items()})


def _shown(name: str, value: object, texts: Texts) -> str:
    """Return a value in words of the language. A local time may have a day of the week: `Mon 09:00`."""
    if name == "time" and isinstance(value, str) and " " in value:
        day, time = value.split(" ")
        return f"{texts(f'day.{day}')} {time}"
    if isinstance(value, datetime):
        return texts.clock(value)
    if isinstance(value, int | float):
        return texts.number(value, 1 if value < 10 and value != int(value) else 0)
    return str(value)


@cache
def _english() -> Texts:
    return Texts("en", words_of("drumbeat.campaigns.results.texts", "en"))


def reason_in_words(whys: Sequence[Why], stored: str) -> str:
    """Return why a campaign is in its state: in words for people, else as stored; empty without a reason."""
    return next((why.words for why in whys if why.is_reason), stored)


def whys_json(whys: Sequence[Why]) -> list[dict[str, str]]:
    return [{"code": why.code, "words": why.words} for why in whys]


def explain(
    state: CampaignState,
    reason: str,
    code: ReasonCode | None,
    numbers: Sequence[NumberProgress],
    waits: Sequence[WaitingGroup] = (),
    stopped_by: Person | None = None,
    start_at: datetime | None = None,
    warnings: Sequence[StoredFact] = (),
) -> list[Why]:
    """Return what explains the state, the reason of the state first. A reason for which only stored words
    exist is not among them. `warnings` are what the service says of numbers, templates and the account; they
    come last, while something may still be sent.
    """
    found = list(_reason(reason, code, numbers, stopped_by))
    if state is CampaignState.DRAFT and start_at is not None:
        found.append(why_of_draft(start_at, is_reason=code is None))
    if state is CampaignState.RUNNING and code not in WAITS:
        found += [why for number in numbers for why in _of_number(number)]
        found += _of_waits(waits)
    if state not in _ENDED:
        labels = {number.phone_number_id: number.label for number in numbers}
        found += [why for fact in warnings for why in _of_fact(fact, labels)]
    return found


def _of_fact(fact: StoredFact, labels: Mapping[str, str]) -> Iterator[Why]:
    """Give what the service warns of."""
    word = fact.word
    match fact.fact:
        case Fact.QUALITY if is_bad_quality(word):
            yield _why("quality", number=labels.get(fact.subject, fact.subject), word=word)
        case Fact.TEMPLATE_QUALITY if is_bad_quality(word):
            yield _why("template_quality", template=fact.subject, word=word)
        case Fact.TEMPLATE_FLAG:
            yield _why("template_flagged", template=fact.subject)
        case Fact.ACCOUNT if word != GOOD:
            yield _why("account_warned", word=word)
        case Fact.REVIEW if word != GOOD:
            yield _why("account_review", word=word)


def _reason(
    reason: str, code: ReasonCode | None, numbers: Sequence[NumberProgress], stopped_by: Person | None
) -> Iterator[Why]:
    if code in (ReasonCode.WINDOW_CLOSED, ReasonCode.RECIPIENT_HOURS):
        yield from _of_hours(reason)
    elif code is ReasonCode.MESSAGING_LIMIT:
        yield from _of_quotas([number for number in numbers if _is_used_up(number)])
    elif code is ReasonCode.PAUSED_BY_HAND and stopped_by is not None:
        yield _why("paused_by", is_reason=True, actor=stopped_by.actor, time=stopped_by.at)
    elif code is ReasonCode.CANCELLED_BY_HAND and stopped_by is not None:
        yield _why("cancelled_by", is_reason=True, actor=stopped_by.actor, time=stopped_by.at)


def why_of_draft(start_at: datetime, *, is_reason: bool = True) -> Why:
    """Return that a time does not start a draft, and what a start would do now."""
    code = "draft_waits" if start_at > datetime.now(UTC) else "draft_is_late"
    return _why(code, is_reason=is_reason, time=start_at)


def _of_hours(words: str) -> Iterator[Why]:
    """Give the quiet hours of the whole campaign."""
    if (wait := wait_of(words)) is None:
        return
    if wait.zone is None:
        yield _why("quiet_in_some", is_reason=True, count=wait.zones, time=wait.until)
    else:
        yield _why("quiet", is_reason=True, place=_place(wait.zone), time=wait.time)


def _of_waits(waits: Sequence[WaitingGroup]) -> Iterator[Why]:
    """Give the quiet hours of some recipients, while others are sent to."""
    for group in waits:
        if (wait := wait_of(group.reason)) is None:
            continue
        count = group.recipients
        if wait.zone is None:
            yield _why("quiet_for_some_zones", count=count, zones=wait.zones, time=wait.until)
        else:
            yield _why("quiet_for_some", count=count, place=_place(wait.zone), time=wait.time)


def _place(zone: str) -> str:
    """Return the place that a zone is named after: `Sao Paulo` for `America/Sao_Paulo`."""
    return zone.rpartition("/")[2].replace("_", " ")


def _is_used_up(number: NumberProgress) -> bool:
    return number.quota_more_at is not None


def _of_quotas(numbers: Sequence[NumberProgress]) -> Iterator[Why]:
    """Give the used-up messaging limits. Numbers may share a limit, so their use is not added up."""
    if len(numbers) == 1:
        yield _why("quota", is_reason=True, **_quota(numbers[0]))
    elif numbers:
        first = min(number.quota_more_at for number in numbers if number.quota_more_at is not None)
        yield _why("quota_of_all", is_reason=True, count=len(numbers), time=first)


def _quota(number: NumberProgress) -> dict[str, Any]:
    return {
        "number": number.label,
        "used": number.quota_used,
        "limit": number.quota_limit,
        "time": number.quota_more_at,
    }


def _of_number(number: NumberProgress) -> Iterator[Why]:
    """Give what keeps one number from its limit while the campaign is sent."""
    label, reason = number.label, number.suspended_reason or ""
    if number.stopped:
        yield _why("stopped", number=label, reason=reason)
    elif number.held_by is not None:
        yield _why("held", number=label, campaign=number.held_by, owner=number.owner)
    elif _is_used_up(number):
        yield _why("quota_of_one", **_quota(number))
    elif number.suspended_until is not None:
        yield _why("rests", number=label, time=number.suspended_until, reason=reason)
    elif number.slowed_since is not None and number.rate_per_s is not None:
        since, rate, limit = number.slowed_since, number.rate_per_s, number.limit_per_s
        yield _why("slowed", number=label, time=since, rate=rate, limit=limit)
