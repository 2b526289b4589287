"""The events of recipients in the database: numbered, read in pages, and taken for delivery.

Law: numbers rise in the order in which events are committed, as far as any reader can tell. Whoever reads on
after a number skips nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from drumbeat.engine.core.recipient_event import KEPT_S, KIND_OF, STORED_KINDS, WINDOW, EventKind
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

LEASE_S = 30.0  # far longer than a request may take; if the process is killed, another one goes on after it
DELETED_MAX = 1_000  # groups at once


@dataclass(frozen=True, slots=True)
class RecipientEvent:
    """An event of a recipient.

    `id`: rises from event to event, with gaps for a reader with a filter. `at`: the service's time, if it
    named one. `phone`: in E.164; None of a forgotten person. `campaign` and `external_id` are None if the
    person opted out, and `code` and `reason` unless the message failed (or, `reason`, the person opted out).
    """

    id: int
    kind: EventKind
    at: datetime
    campaign: str | None
    external_id: str | None
    phone: str | None
    wamid: str | None
    code: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events. `next`: the number to read on after. `more`: there is something to read after it.
    `lost`: how many numbers before the page were deleted because of their age.
    """

    events: list[RecipientEvent]
    next: int
    more: bool
    lost: int


@dataclass(frozen=True, slots=True)
class Taken:
    """A subscription whose events this process delivers. `taken` fences it against a later taker."""

    name: str
    url: str
    secret: str
    campaign_id: int | None
    kinds: tuple[int, ...] | None
    through_id: int
    taken: int
    attempts: int


async def number_events(connection: Connection) -> None:
    """Give numbers to the events that are committed by now."""
    sql = queries("recipient_events")
    if await connection.fetchval(sql["any_unnumbered"]):
        async with connection.transaction():
            last_id = await connection.fetchval(sql["lock_numbering"])
            await connection.execute(sql["number"], last_id)


async def delete_old(connection: Connection) -> None:
    """Delete what is older than KEPT_S, in bounded steps."""
    await connection.execute(queries("recipient_events")["delete_old"], KEPT_S, DELETED_MAX)


async def event_page(
    connection: Connection,
    after: int,
    limit: int,
    *,
    campaign_id: int | None = None,
    kinds: Collection[int] | None = None,
) -> EventPage:
    """Return up to `limit` events after a number, of one campaign and of these kinds (None: of all)."""
    sql = queries("recipient_events")
    bounds = await connection.fetchrow(sql["bounds"])
    assert bounds is not None
    lost = max(0, bounds["deleted_id"] - after)
    start = max(after, bounds["deleted_id"])
    end = min(start + WINDOW, max(bounds["last_id"], start))
    rows = await connection.fetch(
        sql["page"], start, end, limit, campaign_id, None if kinds is None else list(kinds)
    )
    through = rows[-1]["id"] if len(rows) == limit else end
    return EventPage([_event(row) for row in rows], through, through < bounds["last_id"], lost)


async def take_due(connection: Connection) -> list[Taken]:
    """Take the subscriptions that have something to deliver. For LEASE_S, no other process takes them."""
    rows = await connection.fetch(queries("recipient_events")["take_due"], LEASE_S)
    return [Taken(**{**dict(row), "kinds": row["kinds"] and tuple(row["kinds"])}) for row in rows]


async def move(connection: Connection, taken: Taken, page: EventPage) -> bool:
    """Note that the program took the page. Return whether this process goes on: there is more, and nobody
    else has taken the subscription.
    """
    lease_s = LEASE_S if page.more else 0.0
    moved = await connection.fetchval(
        queries("recipient_events")["move"], taken.name, taken.taken, page.next, lease_s, page.lost
    )
    return page.more and moved is not None


async def note_failure(connection: Connection, taken: Taken, problem: str, wait_s: float) -> None:
    """Note that the program did not take a page."""
    await connection.execute(
        queries("recipient_events")["note_failure"], taken.name, taken.taken, wait_s, problem
    )


def stored_kinds(kinds: Collection[EventKind] | None) -> list[int] | None:
    """Return kinds as they are stored; None stands for all."""
    return [STORED_KINDS[kind] for kind in kinds] if kinds else None


def _event(row: asyncpg.Record) -> RecipientEvent:
    phone = row["phone"]
    return RecipientEvent(
        id=row["id"],
        kind=KIND_OF[row["kind"]],
        at=row["at"],
        campaign=row["campaign"],
        external_id=row["external_id"],
        phone=f"+{phone}" if phone is not None and phone > 0 else None,  # a pseudonym is negative
        wamid=row["wamid"],
        code=row["code"],
        reason=row["reason"],
    )
