"""Recipients of a campaign in pages, by state or error code, each continued by the key of its last row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import asyncpg

from engine.core.error_codes import meaning_of
from engine.core.states import RecipientState
from engine.errors import UsageError
from engine.store.database import Pool
from engine.store.queries import queries

PAGE_MAX = 200
RANGES_MAX = 20  # ranges that one page reads at most: a few milliseconds each
_KEY = re.compile(r"(\d{1,9})\.(\d{1,9})")


class RecipientKey(NamedTuple):
    """Where a page ends: the ordinal of the range, and the recipient's number in it."""

    ordinal: int
    seq: int

    @classmethod
    def read(cls, text: str | None) -> RecipientKey:
        """`3.120`; None is the beginning. UsageError for any other text."""
        if not text:
            return cls(0, 0)
        if (match := _KEY.fullmatch(text)) is None:
            raise UsageError(f"{text!r} is not a key of a page", remedy="use the `next` of the page before")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.ordinal}.{self.seq}"


@dataclass(frozen=True, slots=True)
class PageRecipient:
    """A recipient as `campaign export` shows it. `line`: of the audience file."""

    phone: str
    state: RecipientState
    code: int | None
    reason: str | None
    line: int
    wamid: str | None
    phone_number_id: str | None
    attempted_at: datetime | None
    sent_at: datetime | None
    delivered_at: datetime | None
    read_at: datetime | None
    failed_at: datetime | None


@dataclass(frozen=True, slots=True)
class RecipientPage:
    """`next`: what continues the list as `after`; None at its end. A page may be short, or empty, and still
    have a `next`: one page reads a bounded number of ranges.
    """

    recipients: list[PageRecipient]
    next: str | None


async def recipient_page(
    pool: Pool,
    campaign_id: int,
    *,
    after: str | None = None,
    state: RecipientState | None = None,
    code: int | None = None,
    limit: int = PAGE_MAX,
) -> RecipientPage:
    """Recipients in the order of the audience. `code` asks for failed recipients with this error code."""
    sql, key = queries("results_pages"), RecipientKey.read(after)
    limit = max(1, min(limit, PAGE_MAX))
    wanted = RecipientState.FAILED.value if code is not None else None if state is None else state.value
    ranges = await pool.fetch(sql["ranges_with_state"], campaign_id, key.ordinal, wanted, RANGES_MAX)
    found: list[PageRecipient] = []
    for part in ranges:
        seq = key.seq if part["ordinal"] == key.ordinal else 0
        left = limit - len(found)
        rows = await pool.fetch(sql["recipients"], part["range_id"], seq, wanted, code, left)
        found += [_recipient(row) for row in rows]
        if len(found) == limit:
            return RecipientPage(found, str(RecipientKey(part["ordinal"], rows[-1]["seq"])))
    is_end = len(ranges) < RANGES_MAX
    return RecipientPage(found, None if is_end else str(RecipientKey(ranges[-1]["ordinal"] + 1, 0)))


def _recipient(row: asyncpg.Record) -> PageRecipient:
    values = {name: value for name, value in row.items() if name != "seq"}
    if values["state"] == RecipientState.FAILED and values["reason"] is not None:
        values["reason"] = meaning_of(values["reason"]) or values["reason"]
    values |= {"phone": str(values["phone"]), "state": RecipientState(values["state"])}
    return PageRecipient(**values)
