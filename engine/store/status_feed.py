"""The feed of applied statuses: each once, in the order in which they were applied, for programs.

Law: whoever reads on from the place of the last status that it took misses none. A status may be read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from drumbeat.engine.core.states import EvidenceRank
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries

KEPT_S = 3 * 86_400.0
LEASE_S = 60.0  # far longer than an attempt to post may take
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The place of a status in the feed. Written as `12.5`."""

    feed_id: int = 0
    position: int = 0

    def __str__(self) -> str:
        return f"{self.feed_id}.{self.position}"


@dataclass(frozen=True, slots=True)
class FedStatus:
    """A status that was applied. `status` is sent, delivered, read, failed, or accepted for a word that is
    not known. `phone` is in digits of E.164, `row` that of the audience. `at` is the service's time.
    """

    place: Place
    campaign: str
    external_id: str | None
    phone: str
    row: int
    status: str
    at: datetime
    code: int | None


@dataclass(frozen=True, slots=True)
class FedStatuses:
    """Statuses after a place, and the place after which to read on."""

    statuses: Sequence[FedStatus]
    next: Place


def read_place(text: str) -> Place:
    """Return a place as it is written. ValueError for any other text."""
    first, dot, rest = text.partition(".")
    if not (dot and first.isdecimal() and rest.isdecimal() and len(first) < 19 and len(rest) < 10):
        raise ValueError(f"a place in the feed looks like 12.5, not {text[:40]!r}")
    return Place(int(first), int(rest))


async def read_feed(database: Pool | Connection, after: Place, limit: int) -> FedStatuses:
    """Return up to `limit` statuses after a place. Those of recipients who were pruned are left out."""
    rows = await database.fetch(queries("status_feed")["events"], after.feed_id, after.position, limit)
    statuses = [
        FedStatus(
            place=Place(row["feed_id"], row["position"]),
            campaign=row["campaign"],
            external_id=row["external_id"],
            phone=str(row["phone"]),
            row=row["line"],
            status=EvidenceRank(row["status"]).name.lower(),
            at=_EPOCH + timedelta(microseconds=row["status_us"]),
            code=row["code"],
        )
        for row in rows
        if row["phone"] is not None
    ]
    return FedStatuses(statuses, Place(rows[-1]["feed_id"], rows[-1]["position"]) if rows else after)


@dataclass(frozen=True, slots=True)
class PostingTurn:
    """The right to post, for LEASE_S. `attempts`: how many failed since the last success."""

    lease: UUID
    place: Place
    attempts: int


async def posted_up_to(database: Pool | Connection) -> Place:
    """Return the place of the last status that was posted."""
    row = await database.fetchrow(queries("status_feed")["position"])
    return Place() if row is None else Place(row["feed_id"], row["position"])


async def take_turn(connection: Connection, lease: UUID) -> PostingTurn | None:
    """Take the right to post, unless another process has it or no attempt is due."""
    row = await connection.fetchrow(queries("status_feed")["take"], lease, LEASE_S)
    return (
        None if row is None else PostingTurn(lease, Place(row["feed_id"], row["position"]), row["attempts"])
    )


async def end_turn(connection: Connection, turn: PostingTurn, posted: Place | None, wait_s: float) -> None:
    """Note what was posted, or with None that an attempt failed and the next one is due in `wait_s`."""
    sql = queries("status_feed")
    if posted is None:
        await connection.execute(sql["not_posted"], turn.lease, wait_s)
    else:
        await connection.execute(sql["posted"], turn.lease, posted.feed_id, posted.position)


async def delete_old(connection: Connection) -> None:
    """Delete some of the statuses that are older than KEPT_S."""
    await connection.execute(queries("status_feed")["delete_old"], KEPT_S)
