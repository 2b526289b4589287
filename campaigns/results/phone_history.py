"""All that happened to one phone: each campaign and attempt, what it wrote, and whether it is suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from drumbeat.campaigns.phones.normaliser import read_phone
from drumbeat.campaigns.results.person import PersonAttempt, PersonCampaign, read_person
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool

CAMPAIGNS_MAX = 200  # the newest ones in which the phone is a recipient
REPLIES_MAX = 100


class AttemptState(StrEnum):
    """The known state of an attempt."""

    ACCEPTED = "accepted"
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"
    SKIPPED = "skipped"
    WAITS = "waits"
    UNDER_WAY = "under_way"
    IN_DOUBT = "in_doubt"


_BY_OUTCOME = {
    "refused": AttemptState.FAILED,
    "skipped": AttemptState.SKIPPED,
    "deferred": AttemptState.WAITS,
    "claimed": AttemptState.UNDER_WAY,
    "unknown": AttemptState.IN_DOUBT,
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt. `number` 0 means settled before any. `due_at` is when a waiting one is made."""

    number: int
    state: AttemptState
    phone_number_id: str
    wamid: str | None
    code: int | None
    reason: str | None
    attempted_at: datetime | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    failed_at: datetime | None
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class InCampaign:
    """The phone as a recipient of one campaign. `line` is that of the audience file."""

    campaign: str
    template: str
    language: str
    line: int
    state: RecipientState
    reason: str | None
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class Reply:
    """A message that came from the phone. `text` is empty for pictures and the like."""

    sent_at: datetime
    phone_number_id: str | None
    type: str
    text: str


@dataclass(frozen=True, slots=True)
class PhoneHistory:
    """The history of one phone. `phone` has the digits of E.164. `suppressed_since` is the time from which
    nothing is sent to it.
    """

    phone: str
    suppressed_since: datetime | None
    suppressed_reason: str | None
    campaigns: list[InCampaign]
    replies: list[Reply]


async def phone_history(pool: Pool, phone: str, region: str | None = None) -> PhoneHistory:
    """Return what `read_person` reads, the newest first. Raise UsageError if the phone cannot be read."""
    async with pool.acquire() as connection:
        person = await read_person(connection, phone_aliases(str(read_phone(phone, region))))
    return PhoneHistory(
        phone=str(person.spellings[0]),
        suppressed_since=person.suppressed_at,
        suppressed_reason=person.suppressed_because,
        campaigns=[_in_campaign(each) for each in person.campaigns[: -CAMPAIGNS_MAX - 1 : -1]],
        replies=[
            Reply(message.sent_at, message.phone_number_id, message.type, message.text)
            for message in person.messages[: -REPLIES_MAX - 1 : -1]
        ],
    )


def _in_campaign(found: PersonCampaign) -> InCampaign:
    latest_first = sorted(found.attempts, key=lambda attempt: attempt.attempt_no, reverse=True)
    return InCampaign(
        found.campaign,
        found.template,
        found.language,
        found.line,
        RecipientState(found.state),
        found.reason,
        [_attempt(each, found.due_at) for each in latest_first],
    )


def _attempt(found: PersonAttempt, due_at: datetime | None) -> Attempt:
    state = _BY_OUTCOME.get(found.outcome) or AttemptState(found.status or "accepted")
    return Attempt(
        number=found.attempt_no,
        state=state,
        phone_number_id=found.phone_number_id,
        wamid=found.wamid,
        code=found.code,
        reason=found.reason,
        attempted_at=found.attempted_at,
        sent_at=found.sent_at,
        delivered_at=found.delivered_at,
        read_at=found.read_at,
        failed_at=found.failed_at,
        due_at=due_at if state is AttemptState.WAITS else None,
    )
