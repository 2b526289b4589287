"""Writes what the receiver took in: one transaction for a group of bodies, before any of them is answered.

Law: an event that repeats changes nothing. A text that Postgres refuses must not block the others: then each
body is written alone, and the odd one is kept as bytes.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from engine.store.database import LOST_CONNECTION, Connection
from engine.store.queries import queries
from engine.webhooks.events import AccountEvent, IncomingMessage, Parsed, StatusEvent, Unreadable

_STATUS_COLUMNS = (
    "wamid",
    "status",
    "status_at",
    "phone_number_id",
    "recipient",
    "installation",
    "range_id",
    "seq",
    "try",
    "epoch",
    "code",
    "detail",
)
_NO_TAG = (None, None, None, None, None)
_FOREIGN = ("", None, None, None, None)


class Delivery(NamedTuple):
    """One signed body and what was read from it."""

    body: bytes
    parsed: Parsed


async def write(connection: Connection, deliveries: Sequence[Delivery]) -> None:
    """Commit all of it. Raises what a lost or failing database raises: then nothing may be answered 200."""
    try:
        await _write_together(connection, [delivery.parsed for delivery in deliveries])
    except Exception as error:
        if _is_away(error):
            raise
        for delivery in deliveries:
            await _write_alone(connection, delivery)


async def _write_alone(connection: Connection, delivery: Delivery) -> None:
    try:
        await _write_together(connection, [delivery.parsed])
    except Exception as error:
        if _is_away(error):
            raise
        problem = Unreadable(delivery.body, f"the store refused it: {error}"[:200])
        await _write_together(connection, [Parsed([], [], [], [problem])])


def _is_away(error: Exception) -> bool:
    """The database is at fault, not a value; the driver tells of both as interface errors."""
    return isinstance(error, LOST_CONNECTION) and not isinstance(error, ValueError)


async def _write_together(connection: Connection, group: Sequence[Parsed]) -> None:
    statuses = [event for parsed in group for event in parsed.statuses]
    messages = [message for parsed in group for message in parsed.messages]
    account = [event for parsed in group for event in parsed.account]
    unreadable = [part for parsed in group for part in parsed.unreadable]
    async with connection.transaction():
        if statuses:
            await _write_statuses(connection, statuses)
        if messages:
            await _write_messages(connection, messages)
        if account:
            await _write_account(connection, account)
        if unreadable:
            await _write_unreadable(connection, unreadable)


async def _write_statuses(connection: Connection, statuses: Sequence[StatusEvent]) -> None:
    rows = map(_inbox_row, statuses)
    await connection.copy_records_to_table("inbox", records=rows, columns=_STATUS_COLUMNS)
    numbers = {event.phone_number_id for event in statuses if event.phone_number_id}
    if numbers:
        await connection.execute(queries("inbox")["note_flow"], list(numbers))


def _inbox_row(event: StatusEvent) -> tuple[object, ...]:
    tag = event.tag
    if tag is not None:
        ours = (tag.installation, tag.range_id, tag.seq, tag.attempt_try, tag.epoch)
    return (
        event.wamid,
        event.status,
        event.status_at,
        event.phone_number_id,
        event.recipient,
        *(ours if tag is not None else _FOREIGN if event.foreign else _NO_TAG),
        event.code,
        event.detail,
    )


async def _write_messages(connection: Connection, messages: Sequence[IncomingMessage]) -> None:
    await connection.execute(queries("inbox")["keep_messages"], *map(list, zip(*messages, strict=True)))


async def _write_account(connection: Connection, events: Sequence[AccountEvent]) -> None:
    rows = [(account_key(event.field, event.value, event.occurred_at), *event[:4]) for event in events]
    await connection.execute(queries("inbox")["keep_account_events"], *map(list, zip(*rows, strict=True)))


async def _write_unreadable(connection: Connection, parts: Sequence[Unreadable]) -> None:
    rows = [(hashlib.sha256(part.part).hexdigest(), part.part, part.problem) for part in parts]
    await connection.execute(queries("inbox")["keep_unreadable"], *map(list, zip(*rows, strict=True)))


def account_key(field: str, value: str, occurred_at: datetime | None) -> str:
    """The identity of an account event: the same field, value and time are the same event, told again."""
    moment = "" if occurred_at is None else occurred_at.isoformat()
    return hashlib.sha256(f"{field}\n{moment}\n{value}".encode()).hexdigest()
