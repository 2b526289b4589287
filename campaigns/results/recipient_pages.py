"""Recipients of a campaign in pages, by state or error code, each continued by the key of its last row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import asyncpg

from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.error_codes import meaning_of
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Pool

PAGE_MAX = 200
RANGES_MAX = 20  # ranges whose recipients one page looks at: a few milliseconds each
# An index finds recipients in these states. A page looks in so many ranges, in the second lot only if needed:
# 200 ranges with 50 failures each take 20 ms.
RECORDED = (RecipientState.FAILED, RecipientState.UNKNOWN, RecipientState.DEFERRED)
RECORDED_RANGES = (20, 180)
_KEY = re.compile(r"(\d{1,9})\.(\d{1,9})")


class RecipientKey(NamedTuple):
    """The end of a page: the ordinal of the range, and the recipient's number in it."""

    ordinal: int
    seq: int

    @classmethod
    def read(cls, text: str | None) -> RecipientKey:
        """Read a key such as `3.120`; None is the beginning. Raise UsageError for any other text."""
        if not text:
            return cls(0, 0)
        if (match := _KEY.fullmatch(text)) is None:
            raise UsageError(f"{text!r} is not a key of a page", remedy="use the `next` of the page before")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.ordinal}.{self.seq}"


@dataclass(frozen=True, slots=True)
class PageRecipient:
    """A recipient as `campaign export` shows it. `line` is that of the audience file."""

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
    """A page of recipients. `next` continues the list as `after`; None at its end. A page may be short or
    empty and still have a `next`, because one page reads a bounded number of ranges.
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
    """Return recipients in the order of the audience. `code` asks for those that failed with it."""
    limit = max(1, min(limit, PAGE_MAX))
    reader = _PageReader(pool, campaign_id, RecipientState.FAILED if code is not None else state, code, limit)
    return await reader.read(RecipientKey.read(after))


class _PageReader:
    """A reader of one page."""

    def __init__(
        self, pool: Pool, campaign_id: int, state: RecipientState | None, code: int | None, limit: int
    ) -> None:
        self._pool = pool
        self._sql = statements("results_pages")
        self._campaign_id = campaign_id
        self._state = state
        self._code = code
        self._limit = limit
        self._found: list[PageRecipient] = []

    async def read(self, key: RecipientKey) -> RecipientPage:
        is_recorded = self._state in RECORDED
        for ranges_max in RECORDED_RANGES if is_recorded else (RANGES_MAX,):
            ranges = await self._pool.fetch(
                self._sql["ranges_with_state"], self._campaign_id, key.ordinal, self._state, ranges_max
            )
            last = await (self._recorded(ranges, key) if is_recorded else self._whole(ranges, key))
            if last is not None:
                return RecipientPage(self._found, str(last))
            if len(ranges) < ranges_max:
                return RecipientPage(self._found, None)
            key = RecipientKey(ranges[-1]["ordinal"] + 1, 0)
        return RecipientPage(self._found, str(key))

    async def _whole(self, ranges: list[asyncpg.Record], key: RecipientKey) -> RecipientKey | None:
        """Look at all recipients of these ranges; return where a full page ends."""
        for part in ranges:
            seq = key.seq if part["ordinal"] == key.ordinal else 0
            left = self._limit - len(self._found)
            rows = await self._pool.fetch(self._sql["recipients"], part["range_id"], seq, self._state, left)
            self._found += [_recipient(row) for row in rows]
            if len(self._found) == self._limit:
                return RecipientKey(part["ordinal"], rows[-1]["seq"])
        return None

    async def _recorded(self, ranges: list[asyncpg.Record], key: RecipientKey) -> RecipientKey | None:
        """Look at those of whom something is recorded; return where they are too many for the page."""
        left = self._limit - len(self._found)
        ids, ordinals = [part["range_id"] for part in ranges], [part["ordinal"] for part in ranges]
        rows = await self._pool.fetch(
            self._sql["recorded"], ids, ordinals, *key, self._state, self._code, left
        )
        self._found += [_recipient(row) for row in rows if self._is_wanted(row)]
        return RecipientKey(rows[-1]["ordinal"], rows[-1]["seq"]) if len(rows) == left else None

    def _is_wanted(self, row: asyncpg.Record) -> bool:
        return row["state"] == self._state and self._code in (None, row["code"])


def _recipient(row: asyncpg.Record) -> PageRecipient:
    values = {name: value for name, value in row.items() if name not in {"ordinal", "seq"}}
    if values["state"] == RecipientState.FAILED and values["reason"] is not None:
        values["reason"] = meaning_of(values["reason"]) or values["reason"]
    values |= {"phone": str(values["phone"]), "state": RecipientState(values["state"])}
    return PageRecipient(**values)
