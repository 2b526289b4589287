"""The answers of recipients: of one campaign, or everything that came, the newest first."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import asyncpg

from drumbeat.campaigns.phones.phone_text import FORGOTTEN, phone_text
from drumbeat.campaigns.results.breakdown import GROUP_TIMEOUT_S, range_groups
from drumbeat.campaigns.results.reply_text import reply_text
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.limits.likely_opt_out import is_likely_opt_out
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Pool

COLUMNS = ("phone", "sent_at", "type", "text", "quotes", "wamid", "phone_number_id")
PAGE_MAX = 100
LOOKED_AT_MAX = 200  # messages that one page of a campaign's answers looks at
# A message that quotes nothing is an answer if its sender is a recipient. Looking for one takes 6 to 9 ms for
# a million recipients of the database, so a page ends early rather than late.
LOOK_S_MAX = 0.08
LIKELY_LOOKS_MAX = 30  # pages of messages that one page of likely opt-outs looks at
_KEY = re.compile(r"(\d{1,18})\.(.{1,400})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


async def reply_pages(pool: Pool, campaign_id: int) -> AsyncIterator[list[list[Any]]]:
    """Give all answers to a campaign in the order of the audience, in pages, a value for each column."""
    async for range_ids in range_groups(pool, campaign_id):
        found = await pool.fetch(statements("replies")["of_ranges"], range_ids, timeout=GROUP_TIMEOUT_S)
        yield [_values(dict(row)) for row in found]


def _values(row: dict[str, Any]) -> list[Any]:
    context = row["body"].get("context")
    quotes = context.get("id") if isinstance(context, dict) else None
    shown = {**row, "phone": phone_text(row["phone"]), "text": reply_text(row["body"]), "quotes": quotes}
    return [shown[column] for column in COLUMNS]


@dataclass(frozen=True, slots=True)
class ReceivedReply:
    """A message that a person wrote.

    `phone` is in digits, or is the pseudonym of a forgotten person, or an id of the service that names no
    phone; it is empty if nothing names the person. `text` is empty for pictures and the like.
    `quotes_message` says that it answers a message by name; otherwise it came within a week after one.
    `is_probable`: it is on the list of a campaign, and probably answers it.
    `likely_opt_out`: it probably asks for no more messages, and the sender is not suppressed.
    """

    sent_at: datetime
    phone: str
    type: str
    text: str
    phone_number_id: str | None
    quotes_message: bool
    likely_opt_out: bool = False
    is_probable: bool = False

    @property
    def is_phone(self) -> bool:
        return bool(phone_aliases(self.phone))

    @property
    def is_forgotten(self) -> bool:
        return self.phone.startswith(f"{FORGOTTEN}-")


@dataclass(frozen=True, slots=True)
class ReplyPage:
    """A page of answers. `next` continues the list as `before`; None at its end. A page of one campaign may
    be short or empty and still have a `next`.
    """

    replies: list[ReceivedReply]
    next: str | None


class _Key(NamedTuple):
    """The end of a page: the message's time and id."""

    sent_at: datetime
    wamid: str

    @classmethod
    def read(cls, text: str) -> _Key:
        if (match := _KEY.fullmatch(text)) is None:
            raise UsageError(f"{text!r} is not a key of a page", remedy="use the `next` of the page before")
        return cls(_EPOCH + timedelta(microseconds=int(match[1])), match[2])

    def __str__(self) -> str:
        return f"{(self.sent_at - _EPOCH) // timedelta(microseconds=1)}.{self.wamid}"


async def reply_page(pool: Pool, *, before: str | None = None, limit: int = PAGE_MAX) -> ReplyPage:
    """Return the newest messages of everybody, older than the key `before`."""
    limit = max(1, min(limit, PAGE_MAX))
    rows = await _received(pool, None, before, limit)
    return ReplyPage(await _marked(pool, [_reply(row) for row in rows]), _next(rows, limit))


async def likely_opt_outs(pool: Pool, *, before: str | None = None, limit: int = PAGE_MAX) -> ReplyPage:
    """Return the newest messages that probably ask for no more messages, of people who are not suppressed.

    A page may be short or empty and still have a `next`: it looks at some thousand messages.
    """
    found: list[ReceivedReply] = []
    for _ in range(LIKELY_LOOKS_MAX):
        page = await reply_page(pool, before=before)
        found += [reply for reply in page.replies if reply.likely_opt_out]
        before = page.next
        if before is None or len(found) >= limit:
            break
    return ReplyPage(found, before)


async def _marked(pool: Pool, replies: list[ReceivedReply]) -> list[ReceivedReply]:
    """Return the replies, those marked that probably ask for no more messages."""
    likely = {reply.phone for reply in replies if reply.is_phone and is_likely_opt_out(reply.text)}
    if not likely:
        return replies
    spellings = {alias: phone for phone in likely for alias in phone_aliases(phone)}
    rows = await pool.fetch(statements("replies")["suppressed_among"], list(spellings))
    likely -= {spellings[row["phone"]] for row in rows}
    return [
        replace(reply, likely_opt_out=True)
        if reply.phone in likely and is_likely_opt_out(reply.text)
        else reply
        for reply in replies
    ]


async def campaign_reply_page(
    pool: Pool, campaign_id: int, *, before: str | None = None, limit: int = PAGE_MAX
) -> ReplyPage:
    """Return the newest answers to one campaign. An answer quotes its message, or quotes nothing and came
    from a recipient within a week after the message. One that quotes a message that nobody knows, and came
    so, is probably an answer: the service sometimes names another id than the send returned.
    """
    limit = max(1, min(limit, PAGE_MAX))
    rows = await _received(pool, campaign_id, before, LOOKED_AT_MAX)
    quotes_it, quotes_another = await _quoting(pool, campaign_id, rows)
    found: list[ReceivedReply] = []
    began_s = time.monotonic()
    for at, row in enumerate(rows):
        is_certain = row["wamid"] in quotes_it
        if is_certain or (
            row["wamid"] not in quotes_another and await _is_from_recipient(pool, campaign_id, row)
        ):
            probable = row["quotes"] is not None and not is_certain
            found.append(replace(_reply(row), is_probable=probable))
        if len(found) == limit or time.monotonic() - began_s > LOOK_S_MAX:
            is_end = at + 1 == len(rows) < LOOKED_AT_MAX
            return ReplyPage(
                await _marked(pool, found), None if is_end else str(_Key(row["sent_at"], row["wamid"]))
            )
    return ReplyPage(await _marked(pool, found), _next(rows, LOOKED_AT_MAX))


async def _received(
    pool: Pool, campaign_id: int | None, before: str | None, limit: int
) -> Sequence[asyncpg.Record]:
    key = _Key.read(before) if before else (None, None)
    if campaign_id is None:
        return await pool.fetch(statements("replies")["received"], *key, limit)
    return await pool.fetch(statements("replies")["received_since_start"], *key, limit, campaign_id)


async def _quoting(pool: Pool, campaign_id: int, rows: Sequence[asyncpg.Record]) -> tuple[set[str], set[str]]:
    """Return those of the messages that quote a message of the campaign, and those that quote another one of
    ours.
    """
    pairs = [(row["wamid"], row["quotes"]) for row in rows if row["quotes"] is not None]
    found = await pool.fetch(
        statements("replies")["quoting"],
        campaign_id,
        [wamid for wamid, _ in pairs],
        [quoted for _, quoted in pairs],
    )
    both = [{row["wamid"] for row in found if row["of_campaign"] is it} for it in (True, False)]
    return both[0], both[1] - both[0]


async def _is_from_recipient(pool: Pool, campaign_id: int, row: asyncpg.Record) -> bool:
    spellings = phone_aliases(row["sender"])
    if not spellings:
        return False  # it is a pseudonym, or an id of the service
    asked = (campaign_id, spellings[0], spellings[-1], row["sent_at"])
    async with pool.acquire() as connection, connection.transaction(readonly=True):
        await connection.execute(statements("person")["look_by_filter"])
        return bool(await connection.fetchval(statements("replies")["is_from_recipient"], *asked))


def _reply(row: asyncpg.Record) -> ReceivedReply:
    return ReceivedReply(
        row["sent_at"],
        f"{FORGOTTEN}{row['sender']}" if row["sender"].startswith("-") else sanitise(row["sender"]),
        row["type"],
        reply_text(row["body"]),
        row["phone_number_id"],
        row["quotes"] is not None,
    )


def _next(rows: Sequence[asyncpg.Record], limit: int) -> str | None:
    return str(_Key(rows[-1]["sent_at"], rows[-1]["wamid"])) if len(rows) == limit else None
