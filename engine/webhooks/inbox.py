"""Writes what the receiver took in: one transaction for a group of bodies, before any of them is answered.

Law: an event that repeats changes nothing. A text that Postgres refuses must not block the others: then each
body is written alone, and the odd one is kept as bytes.
"""

import hashlib
import time
from collections.abc import Iterator, Sequence
from datetime import datetime

from engine.core.phone_aliases import spellings
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
from engine.webhooks.packing import GroupRow, pack
from engine.webhooks.parse import Reader, parse

FLOW_S = 1.0  # a delay of this length only makes a doubt wait longer


class Group:
    """Signed bodies that are committed together, and what was read from them."""

    def __init__(self, product: str) -> None:
        self._product = product
        self._bodies: list[bytes] = []
        self.parsed = Parsed()
        self._reader = Reader(self.parsed, product)
        self.events = 0

    def add(self, body: bytes) -> int:
        """Read one body more; returns how many events it held, at least one."""
        found = self._reader.read(body)
        self._bodies.append(body)
        self.events += found
        return found

    def apart(self) -> Iterator[tuple[bytes, Parsed]]:
        """Each body with its own events, read again."""
        for body in self._bodies:
            yield body, parse(body, self._product)


class Flow:
    """The numbers whose events flow, as the store knows: it is told once in FLOW_S, not at every commit."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._until = 0.0

    def untold(self, numbers: set[str]) -> set[str]:
        """Those of `numbers` that the store has to be told."""
        if time.monotonic() >= self._until:
            self._told.clear()
            self._until = time.monotonic() + FLOW_S
        return numbers - self._told

    def tell(self, numbers: set[str]) -> None:
        """The store has committed it."""
        self._told |= numbers


async def write(connection: Connection, group: Group, flow: Flow | None = None) -> None:
    """Commit all of it. Raises what a lost or failing database raises: then nothing may be answered 200."""
    flow = flow or Flow()
    try:
        await write_together(connection, group.parsed, flow)
    except Exception as error:
        if _is_away(error):
            raise
        for body, parsed in group.apart():
            await _write_alone(connection, body, parsed, flow)


async def _write_alone(connection: Connection, body: bytes, parsed: Parsed, flow: Flow) -> None:
    try:
        await write_together(connection, parsed, flow)
    except Exception as error:
        if _is_away(error):
            raise
        problem = Unreadable(body, f"the store refused it: {error}"[:200])
        await write_together(connection, Parsed(unreadable=[problem]), flow)


def _is_away(error: Exception) -> bool:
    """The database is at fault, not a value; the driver tells of both as interface errors."""
    return isinstance(error, LOST_CONNECTION) and not isinstance(error, ValueError)


async def write_together(connection: Connection, parsed: Parsed, flow: Flow) -> None:
    """Commit all of it or nothing; raises also where the store refuses a value."""
    statuses = parsed.statuses
    groups = pack(statuses)
    numbers = flow.untold({number for status in statuses if (number := status[PHONE_NUMBER_ID])})
    others = parsed.messages or parsed.account or parsed.unreadable or parsed.silenced
    if len(groups) == 1 and not (numbers or others):
        await _write_group(connection, groups[0])  # a transaction by itself: one round trip instead of three
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
        if parsed.silenced:
            await _suppress(connection, parsed.silenced)
    flow.tell(numbers)


async def _write_group(connection: Connection, group: GroupRow) -> None:
    await connection.execute(queries("inbox")["keep_group"], *group)


async def _write_messages(connection: Connection, messages: Sequence[IncomingMessage]) -> None:
    await connection.execute(queries("inbox")["keep_messages"], *map(list, zip(*messages, strict=True)))


async def _write_account(connection: Connection, events: Sequence[AccountEvent]) -> None:
    rows = [(account_key(event.field, event.value, event.occurred_at), *event) for event in events]
    await connection.execute(queries("inbox")["keep_account_events"], *map(list, zip(*rows, strict=True)))


async def _write_unreadable(connection: Connection, parts: Sequence[Unreadable]) -> None:
    rows = [(hashlib.sha256(part.part).hexdigest(), part.part, part.problem) for part in parts]
    await connection.execute(queries("inbox")["keep_unreadable"], *map(list, zip(*rows, strict=True)))


async def _suppress(connection: Connection, statuses: Sequence[StatusRow]) -> None:
    """Silence for the phone that our tag names, and for every spelling of the one that the service names."""
    rows = [
        (status[INSTALLATION], status[RANGE_ID], status[SEQ], phone)
        for status in statuses
        for phone in spellings(status[RECIPIENT] or "") or (None,)
    ]
    await connection.execute(queries("inbox")["suppress"], *map(list, zip(*rows, strict=True)))


def account_key(field: str, value: str, occurred_at: datetime | None) -> str:
    """The identity of an account event: the same field, value and time are the same event, told again."""
    moment = "" if occurred_at is None else occurred_at.isoformat()
    return hashlib.sha256(f"{field}\n{moment}\n{value}".encode()).hexdigest()
