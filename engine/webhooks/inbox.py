"""Commits what the receiver accepted: one transaction for a group of bodies, before any of them is answered.

Law: a repeated event changes nothing. A text that Postgres refuses must not block the other bodies: each body
is then written in a transaction of its own, and the refused one is kept as bytes.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from datetime import datetime

from engine.core.phone_aliases import phone_aliases
from engine.store.database import LOST_CONNECTION, Connection
from engine.store.queries import queries
from engine.webhooks.events import (
    INSTALLATION,
    PHONE_NUMBER_ID,
    RANGE_ID,
    RECIPIENT,
    SEQ,
    AccountEvent,
    IncomingMessage,
    Parsed,
    StatusRow,
    Unreadable,
)
from engine.webhooks.opt_outs import note_opt_outs
from engine.webhooks.packing import GroupRow, pack
from engine.webhooks.parse import Reader, parse

# A delay of this length only makes an attempt in doubt wait longer before it counts as probably not sent.
EVENT_FLOW_S = 1.0


class BodyGroup:
    """Signed bodies that are committed together, and the events read from them."""

    def __init__(self, product: str) -> None:
        self._product = product
        self._bodies: list[bytes] = []
        self.parsed = Parsed()
        self._reader = Reader(self.parsed, product)
        self.events = 0

    def add(self, body: bytes) -> int:
        """Read one more body. Returns the number of its events, at least one."""
        found = self._reader.read(body)
        self._bodies.append(body)
        self.events += found
        return found

    def apart(self) -> Iterator[tuple[bytes, Parsed]]:
        """Each body with its own events, parsed again."""
        for body in self._bodies:
            yield body, parse(body, self._product)


class EventFlow:
    """Numbers that recently had events. The store is updated once per EVENT_FLOW_S, not in every commit."""

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._until = 0.0

    def unreported(self, numbers: set[str]) -> set[str]:
        """Those of `numbers` whose activity is not stored yet."""
        if time.monotonic() >= self._until:
            self._reported.clear()
            self._until = time.monotonic() + EVENT_FLOW_S
        return numbers - self._reported

    def reported(self, numbers: set[str]) -> None:
        """The store has committed the activity of these numbers."""
        self._reported |= numbers


async def write(connection: Connection, group: BodyGroup, event_flow: EventFlow | None = None) -> None:
    """Commit the group. If the database is lost or fails, its error is raised and no body may be answered
    with 200.
    """
    event_flow = event_flow or EventFlow()
    try:
        await write_together(connection, group.parsed, event_flow)
    except Exception as error:
        if _is_away(error):
            raise
        for body, parsed in group.apart():
            await _write_alone(connection, body, parsed, event_flow)


async def _write_alone(connection: Connection, body: bytes, parsed: Parsed, event_flow: EventFlow) -> None:
    try:
        await write_together(connection, parsed, event_flow)
    except Exception as error:
        if _is_away(error):
            raise
        problem = Unreadable(body, f"the store refused it: {error}"[:200])
        await write_together(connection, Parsed(unreadable=[problem]), event_flow)


def _is_away(error: Exception) -> bool:
    """Whether the database is at fault and not a value. The driver reports both as interface errors."""
    return isinstance(error, LOST_CONNECTION) and not isinstance(error, ValueError)


async def write_together(connection: Connection, parsed: Parsed, event_flow: EventFlow) -> None:
    """Commit everything or nothing. Also raises if the store refuses a value."""
    statuses = parsed.statuses
    groups = pack(statuses)
    numbers = event_flow.unreported({number for status in statuses if (number := status[PHONE_NUMBER_ID])})
    others = parsed.messages or parsed.account or parsed.unreadable or parsed.opted_out
    if len(groups) == 1 and not (numbers or others):
        # One statement is a transaction: one round trip instead of three.
        await _write_group(connection, groups[0])
        return
    async with connection.transaction():
        for group in groups:
            await _write_group(connection, group)
        if numbers:
            await connection.execute(queries("inbox")["note_flow"], list(numbers))
        if parsed.messages:
            await _write_messages(connection, parsed.messages)
        if parsed.account:
            await _write_account(connection, parsed.account)
        if parsed.unreadable:
            await _write_unreadable(connection, parsed.unreadable)
        if parsed.opted_out:
            await _suppress(connection, parsed.opted_out)
    event_flow.reported(numbers)


async def _write_group(connection: Connection, group: GroupRow) -> None:
    await connection.execute(queries("inbox")["keep_group"], *group)


async def _write_messages(connection: Connection, messages: Sequence[IncomingMessage]) -> None:
    columns = map(list, zip(*messages, strict=True))
    rows = await connection.fetch(queries("inbox")["keep_messages"], *columns)
    await note_opt_outs(connection, messages, {row["wamid"] for row in rows})


async def _write_account(connection: Connection, events: Sequence[AccountEvent]) -> None:
    rows = [(account_key(event.field, event.value, event.occurred_at), *event) for event in events]
    await connection.execute(queries("inbox")["keep_account_events"], *map(list, zip(*rows, strict=True)))


async def _write_unreadable(connection: Connection, parts: Sequence[Unreadable]) -> None:
    rows = [(hashlib.sha256(part.part).hexdigest(), part.part, part.problem) for part in parts]
    await connection.execute(queries("inbox")["keep_unreadable"], *map(list, zip(*rows, strict=True)))


async def _suppress(connection: Connection, statuses: Sequence[StatusRow]) -> None:
    """Opt out the phone that our tag names, and both aliases of the phone that the service names."""
    rows = [
        (status[INSTALLATION], status[RANGE_ID], status[SEQ], phone)
        for status in statuses
        for phone in phone_aliases(status[RECIPIENT] or "") or (None,)
    ]
    await connection.execute(queries("inbox")["suppress"], *map(list, zip(*rows, strict=True)))


def account_key(field: str, value: str, occurred_at: datetime | None) -> str:
    """The identity of an account event: one that repeats has the same field, value and time."""
    moment = "" if occurred_at is None else occurred_at.isoformat()
    return hashlib.sha256(f"{field}\n{moment}\n{value}".encode()).hexdigest()
