"""All that happened to one phone: each campaign and attempt, what it wrote, and whether it is suppressed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import asyncpg

from campaigns.preview.recipient import SCAN_TIMEOUT_S, read_phone
from engine.core.error_codes import meaning_of
from engine.core.phone_aliases import phone_aliases
from engine.core.states import EvidenceRank, RecipientState
from engine.store.database import Pool
from engine.store.queries import queries

CAMPAIGNS_MAX = 200  # the newest ones in which the phone is a recipient
REPLIES_MAX = 100


class AttemptState(StrEnum):
    """What is known of an attempt."""

    ACCEPTED = "accepted"
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"
    SKIPPED = "skipped"
    WAITS = "waits"
    UNDER_WAY = "under_way"
    IN_DOUBT = "in_doubt"


# Of a row in `outcomes` (its kind), and in `pending_attempts` (its state).
_BY_KIND = {2: AttemptState.FAILED, 3: AttemptState.SKIPPED}
_BY_PENDING = {
    "deferred": AttemptState.WAITS,
    "claimed": AttemptState.UNDER_WAY,
    "unknown": AttemptState.IN_DOUBT,
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt. `number` 0: it was settled before any attempt. `due_at`: when a waiting one is made."""

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
    """The phone as a recipient of one campaign. `line`: of the audience file."""

    campaign: str
    template: str
    language: str
    line: int
    state: RecipientState
    reason: str | None
    attempts: list[Attempt]


@dataclass(frozen=True, slots=True)
class Reply:
    """A message that came from the phone. `text`: empty for pictures and the like."""

    sent_at: datetime
    phone_number_id: str | None
    type: str
    text: str


@dataclass(frozen=True, slots=True)
class PhoneHistory:
    """`phone`: digits of E.164. `suppressed_since`: since when nothing is sent to it."""

    phone: str
    suppressed_since: datetime | None
    suppressed_reason: str | None
    campaigns: list[InCampaign]
    replies: list[Reply]


async def phone_history(pool: Pool, phone: str, region: str | None = None) -> PhoneHistory:
    """UsageError if the phone cannot be read. Takes 1 µs for each recipient of all campaigns."""
    digits = read_phone(phone, region)
    aliases = list(phone_aliases(str(digits)))
    sql = queries("results_pages")
    found = await pool.fetch(sql["of_phone"], aliases, CAMPAIGNS_MAX, timeout=SCAN_TIMEOUT_S)
    keys = [row["range_id"] for row in found], [row["seq"] for row in found]
    attempts = await pool.fetch(sql["attempts"], *keys)
    listed = await pool.fetchrow(queries("suppression")["listed"], aliases)
    replies = await pool.fetch(sql["replies"], [str(alias) for alias in aliases], REPLIES_MAX)
    return PhoneHistory(
        phone=str(digits),
        suppressed_since=None if listed is None else listed["added_at"],
        suppressed_reason=None if listed is None else listed["reason"],
        campaigns=[_in_campaign(row, attempts) for row in found],
        replies=[_reply(row) for row in replies],
    )


def _in_campaign(row: asyncpg.Record, attempts: list[asyncpg.Record]) -> InCampaign:
    own = [each for each in attempts if (each["range_id"], each["seq"]) == (row["range_id"], row["seq"])]
    return InCampaign(
        row["campaign"],
        row["template"],
        row["language"],
        row["line"],
        RecipientState(row["state"]),
        _meaning(row["reason"]),
        [_attempt(each) for each in own],
    )


def _attempt(row: asyncpg.Record) -> Attempt:
    if row["waits"] is not None:
        state = _BY_PENDING[row["waits"]]
    elif row["kind"] == 1:
        state = AttemptState(EvidenceRank(row["status"]).name.lower())
    else:
        state = _BY_KIND[row["kind"]]
    copied = {
        name: row[name]
        for name in ("phone_number_id", "wamid", "code", "attempted_at", "sent_at", "delivered_at")
    }
    copied |= {name: row[name] for name in ("read_at", "failed_at", "due_at")}
    return Attempt(number=row["attempt_no"], state=state, reason=_meaning(row["reason"]), **copied)


def _meaning(reason: str | None) -> str | None:
    return None if reason is None else meaning_of(reason) or reason


def _reply(row: asyncpg.Record) -> Reply:
    body: dict[str, Any] = row["body"] if isinstance(row["body"], dict) else {}
    text = body.get("text")
    words = text.get("body", "") if isinstance(text, dict) else ""
    return Reply(row["sent_at"], row["phone_number_id"], row["type"], str(words))
