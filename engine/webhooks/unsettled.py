"""The late settlement of events that named no phone or no known number when they came.

These are messages that only quote ours, opt-outs that name only our message, and changes for numbers that
were not known. Law: each is settled in the transaction that takes it from those that wait. A repetition
changes nothing.
"""

from collections.abc import Sequence

import asyncpg
import orjson

from drumbeat.engine.core.event_origin import Ours
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries
from drumbeat.engine.webhooks.events import IncomingMessage
from drumbeat.engine.webhooks.inbox import BodyGroup, write
from drumbeat.engine.webhooks.opt_out_events import act_on_events
from drumbeat.engine.webhooks.opt_outs import Words, found_words, note_opt_outs
from drumbeat.engine.webhooks.senders import with_senders
from drumbeat.engine.webhooks.waiting import UNMATCHED_DAYS, next_wait_s

AT_ONCE = 100


async def settle_events(connection: Connection) -> int:
    """Look for the people of due events. Return how many opt-outs name nobody whom we know."""
    async with connection.transaction():
        rows = await connection.fetch(queries("opt_outs")["due_events"], AT_ONCE)
        return await act_on_events(connection, [row["event_key"] for row in rows]) if rows else 0


async def settle_messages(connection: Connection) -> int:
    """Look for the senders of due messages. Return how many of them opt out and have no known sender."""
    async with connection.transaction():
        rows = await connection.fetch(queries("opt_outs")["due_messages"], AT_ONCE, UNMATCHED_DAYS)
        if not rows:
            return 0
        messages = await with_senders(connection, [_message(row) for row in rows])
        found = [
            (each.wamid, each.sender, _wait_s(each, row)) for each, row in zip(messages, rows, strict=True)
        ]
        await connection.execute(queries("opt_outs")["note_senders"], *map(list, zip(*found, strict=True)))
        await note_opt_outs(connection, messages)
        return await _untied(connection, messages, rows)


async def read_held(connection: Connection, product: str, accounts: Ours) -> int:
    """Read changes again whose number has become known, and return how many. `accounts` has no numbers."""
    await connection.execute(queries("opt_outs")["forget_held"], UNMATCHED_DAYS)
    read = 0
    while read < AT_ONCE and await _read_next_held(connection, product, accounts):
        read += 1
    return read


async def _read_next_held(connection: Connection, product: str, accounts: Ours) -> bool:
    """Read one change in a transaction of its own: it keeps the lock of opt-outs for no other change."""
    sql = queries("opt_outs")
    async with connection.transaction():
        row = await connection.fetchrow(sql["held_of_known_numbers"])
        if row is None:
            return False
        group = BodyGroup(product, accounts)
        group.add(row["body"])
        await connection.execute(sql["delete_held"], row["event_key"])
        await write(connection, group)
    return True


def _message(row: asyncpg.Record) -> IncomingMessage:
    return IncomingMessage(*(row[name] for name in IncomingMessage._fields))


def _wait_s(message: IncomingMessage, row: asyncpg.Record) -> float | None:
    if phone_aliases(message.sender):
        return None
    return next_wait_s(row["matches_tried"] + 1, hopeful=row["hopeful"])


async def _untied(
    connection: Connection, messages: Sequence[IncomingMessage], rows: Sequence[asyncpg.Record]
) -> int:
    looked = [
        (message, orjson.loads(message.body))
        for message, row in zip(messages, rows, strict=True)
        if row["matches_tried"] == 0 and not phone_aliases(message.sender)
    ]
    return len(found_words(looked, (await Words.read(connection)).out)) if looked else 0
