"""The events of accepted bodies as rows of the inbox.

Law: a repeated event changes nothing. Everything that `write_together` is given is committed, or nothing.
"""

import hashlib
import time
from collections.abc import Sequence
from datetime import datetime

from drumbeat.engine.core.events.people import refusal
from drumbeat.engine.core.events.records import (
    PHONE_NUMBER_ID,
    AccountEvent,
    IncomingMessage,
    Parsed,
    Unreadable,
)
from drumbeat.engine.core.events.waits import FIRST_WAIT_S
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.opt_out_events import act_on_events, keep_events
from drumbeat.engine.store.opt_out_words import note_opt_outs
from drumbeat.engine.store.packing import GroupRow, pack
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.quoted_senders import ids_in, note_ids, with_senders

# A delay of this length only makes an attempt in doubt wait longer before it counts as probably not sent.
EVENT_FLOW_S = 1.0


class EventFlow:
    """The numbers that recently had events. The store is updated once in EVENT_FLOW_S, not at each commit."""

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._until = 0.0

    def unreported(self, numbers: set[str]) -> set[str]:
        """Return those of `numbers` whose activity is not stored yet."""
        if time.monotonic() >= self._until:
            self._reported.clear()
            self._until = time.monotonic() + EVENT_FLOW_S
        return numbers - self._reported

    def reported(self, numbers: set[str]) -> None:
        """Note that the store has committed the activity of these numbers."""
        self._reported |= numbers


async def write_together(connection: Connection, parsed: Parsed, event_flow: EventFlow) -> None:
    """Commit everything or nothing. Also raises if the store refuses a value.

    Rows are stored before the lock of opt-outs is taken. Then a process that holds the lock waits for no row
    of another receiver, which may wait for the lock.
    """
    statuses = parsed.statuses
    groups = pack(statuses)
    numbers = event_flow.unreported({number for status in statuses if (number := status[PHONE_NUMBER_ID])})
    refusals = parsed.opt_outs or parsed.opted_out
    others = parsed.messages or parsed.account or parsed.unreadable or refusals or parsed.people
    if len(groups) == 1 and not (numbers or others):
        # One statement is a transaction: one round trip instead of three.
        await _write_group(connection, groups[0])
        return
    async with connection.transaction():
        for group in groups:
            await _write_group(connection, group)
        if numbers:
            await connection.execute(queries("inbox")["note_flow"], list(numbers))
        if parsed.people:
            await note_ids(connection, parsed.people)
        messages = await _keep_messages(connection, parsed.messages) if parsed.messages else []
        if parsed.account:
            await _write_account(connection, parsed.account)
        if parsed.unreadable:
            await _write_unreadable(connection, parsed.unreadable)
        opt_outs = [*map(refusal, parsed.opted_out), *parsed.opt_outs]
        keys = await keep_events(connection, opt_outs) if opt_outs else []
        if messages:
            await note_opt_outs(connection, messages)
        if keys:
            await act_on_events(connection, keys)
    event_flow.reported(numbers)


async def read_our_numbers(pool: Pool) -> frozenset[str]:
    """Return the ids of the numbers that the service listed for us."""
    return frozenset(await pool.fetchval(queries("inbox")["our_numbers"]))


async def _write_group(connection: Connection, group: GroupRow) -> None:
    await connection.execute(queries("inbox")["keep_group"], *group)


async def _keep_messages(
    connection: Connection, messages: Sequence[IncomingMessage]
) -> list[IncomingMessage]:
    """Store the messages. Return those that were not stored before, with the phones of senders now known."""
    messages = await with_senders(connection, messages)
    columns = list(map(list, zip(*messages, strict=True)))[:-1]  # the ids have a table of their own
    waits_s = [None if phone_aliases(message.sender) else FIRST_WAIT_S for message in messages]
    rows = await connection.fetch(queries("inbox")["keep_messages"], *columns, waits_s)
    new = {row["wamid"] for row in rows}
    kept = [message for message in messages if message.wamid in new]
    await note_ids(connection, ids_in(kept))
    return kept


async def _write_account(connection: Connection, events: Sequence[AccountEvent]) -> None:
    rows = [(account_key(event.field, event.value, event.occurred_at), *event) for event in events]
    await connection.execute(queries("inbox")["keep_account_events"], *map(list, zip(*rows, strict=True)))


async def _write_unreadable(connection: Connection, parts: Sequence[Unreadable]) -> None:
    rows = [(hashlib.sha256(part.part).hexdigest(), *part) for part in parts]
    await connection.execute(queries("inbox")["keep_unreadable"], *map(list, zip(*rows, strict=True)))


def account_key(field: str, value: str, occurred_at: datetime | None) -> str:
    """Return the identity of an account event: a repetition has the same field, value and time."""
    moment = "" if occurred_at is None else occurred_at.isoformat()
    return hashlib.sha256(f"{field}\n{moment}\n{value}".encode()).hexdigest()
