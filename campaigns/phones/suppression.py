"""The suppression list: phones to which nothing is sent. A plan skips them in every audience."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from drumbeat.campaigns.actor import actor as this_user
from drumbeat.campaigns.output.spreadsheet import safe_cell
from drumbeat.campaigns.phones.normaliser import Normaliser, read_phone_with
from drumbeat.campaigns.phones.old_numbers import EVERY_CHANGE
from drumbeat.campaigns.phones.phone_text import phone_text
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.phone_aliases import canonical_phone, phone_aliases
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.opting_out import follow_changed_numbers
from drumbeat.engine.store.queries import queries

PAGE_ROWS = 5_000
PAGE_MAX = 100  # people read a page
REASON_CHARACTERS_MAX = 200
ADDED_BY_HAND = "added by hand"
EXPORT_HEADER = ("phone", "reason", "added_at", "source")


@dataclass(frozen=True, slots=True)
class SuppressionCounts:
    """The counts of a change of the list. `changed` are phones that were added or removed. `unchanged` are
    phones for which there was nothing to do, including repeated ones. `hidden` are rows of a workbook that
    it hides; they were read like all others.
    """

    changed: int
    unchanged: int
    rejected: int = 0
    rejects_path: Path | None = None
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Suppression:
    """One phone in digits of E.164: why, when and by what it was added.

    `source` is hand, import, service (it refused with 131050), word (the person wrote one) or button.
    """

    phone: int
    reason: str
    added_at: datetime
    source: str


@dataclass(frozen=True, slots=True)
class SuppressionPage:
    """A page of the list. `next` continues the list as `after`; None at its end."""

    entries: list[Suppression]
    next: int | None


async def add_suppressions(
    connection: Connection,
    phones: Sequence[str],
    reason: str = ADDED_BY_HAND,
    region: str | None = None,
    *,
    actor: str = "",
) -> SuppressionCounts:
    """Add phones to the list. Raise UsageError, and add nothing, if one of them cannot be read.

    `actor`, here and below, is the one who asked for it, for the audit; empty means the user of this process.
    """
    numbers, reason = _read_phones(phones, region), checked_reason(reason)
    async with connection.transaction():
        counts = await store_suppressions(connection, numbers, reason, "hand")
        await note_suppressions(connection, "suppress", "hand", counts, actor)
    return counts


async def suppress_recipients(
    connection: Connection, phones: Sequence[int], reason: str = ADDED_BY_HAND
) -> SuppressionCounts:
    """Add phones of stored recipients to the list. This notes no audit: the caller knows the campaign."""
    return await store_suppressions(connection, phones, checked_reason(reason), "hand")


async def remove_suppressions(
    connection: Connection, phones: Sequence[str], region: str | None = None, *, actor: str = ""
) -> SuppressionCounts:
    """Remove phones from the list. Raise UsageError, and remove nothing, if one of them cannot be read."""
    numbers = _read_phones(phones, region)
    async with connection.transaction():
        # An alias that is not valid is removed too.
        aliases = [alias for number in numbers for alias in phone_aliases(str(number))]
        removed = await connection.fetch(statements("suppression")["remove"], aliases)
        counts = _counts(numbers, [row["phone"] for row in removed])
        await note_suppressions(connection, "unsuppress", "hand", counts, actor)
    return counts


async def suppression_page(pool: Pool, *, after: int = 0, limit: int = PAGE_MAX) -> SuppressionPage:
    """Return the entries with the next greater phones, at most PAGE_MAX."""
    limit = max(1, min(limit, PAGE_MAX))
    rows = await pool.fetch(statements("suppression")["page"], after, limit)
    entries = [Suppression(**dict(row)) for row in rows]
    return SuppressionPage(entries, entries[-1].phone if len(entries) == limit else None)


async def list_suppressions(database: Connection | Pool) -> AsyncIterator[Suppression]:
    """Give the whole list ordered by phone, read in pages."""
    after = 0
    while rows := await database.fetch(statements("suppression")["page"], after, PAGE_ROWS):
        for row in rows:
            yield Suppression(**dict(row))
        after = rows[-1]["phone"]


def export_cells(entry: Suppression) -> tuple[object, ...]:
    """Return a row of the list as CSV with the header EXPORT_HEADER. No cell starts a formula."""
    added_at = entry.added_at.isoformat(timespec="seconds")
    return phone_text(entry.phone), safe_cell(entry.reason), added_at, entry.source


async def store_suppressions(
    connection: Connection, phones: Sequence[int], reason: str, source: str
) -> SuppressionCounts:
    added = await connection.fetch(statements("suppression")["add"], _with_aliases(phones), reason, source)
    await follow_changed_numbers(connection, _with_aliases(phones))
    return _counts(phones, [row["phone"] for row in added if row["is_new"]])


async def note_suppressions(
    connection: Connection, action: str, source: str, counts: SuppressionCounts, actor: str = ""
) -> None:
    if counts.changed:
        detail = {"source": source, "phones": counts.changed}
        await connection.execute(queries("campaigns")["audit"], actor or this_user(), action, None, detail)


def _counts(asked: Sequence[int], changed: Sequence[int]) -> SuppressionCounts:
    phones = len(set(map(canonical_phone, changed)))
    return SuppressionCounts(phones, len(asked) - phones)


def _with_aliases(phones: Sequence[int]) -> list[int]:
    """Add the valid alias of each phone. Senders look up only the phone that the audience holds."""
    normalise = Normaliser().normalise
    return [
        alias
        for phone in phones
        for alias in phone_aliases(str(phone))
        if alias == phone or normalise(str(alias)) == alias
    ]


def _read_phones(phones: Sequence[str], region: str | None) -> list[int]:
    normaliser = Normaliser(region, EVERY_CHANGE)
    return [read_phone_with(normaliser, phone, region) for phone in phones]


def checked_reason(reason: str) -> str:
    if not reason.strip() or len(reason) > REASON_CHARACTERS_MAX or "\x00" in reason:
        raise UsageError(f"a reason must have 1 to {REASON_CHARACTERS_MAX} characters")
    return reason
