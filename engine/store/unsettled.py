"""The late settlement of events that named no phone or no known number when they came.

These are messages that only quote ours, opt-outs that name only our message, and changes for numbers that
were not known. Law: each is settled in the transaction that takes it from those that wait. A repetition
changes nothing.
"""

from collections.abc import Sequence

import asyncpg
import orjson

from drumbeat.engine.core.events.records import IncomingMessage
from drumbeat.engine.core.events.waits import UNMATCHED_DAYS, next_wait_s
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.opt_out_events import act_on_events
from drumbeat.engine.store.opt_out_words import Words, found_words, note_opt_outs
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.quoted_senders import with_senders

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


async def forget_held(connection: Connection) -> None:
    """Delete the changes that waited too long for their number: it is not ours."""
    await connection.execute(queries("opt_outs")["forget_held"], UNMATCHED_DAYS)


async def take_held(connection: Connection) -> bytes | None:
    """Take a change whose number has become known, and return its body; None if there is none."""
    sql = queries("opt_outs")
    row = await connection.fetchrow(sql["held_of_known_numbers"])
    if row is None:
        return None
    await connection.execute(sql["delete_held"], row["event_key"])
    body: bytes = row["body"]
    return body


def _message(row: asyncpg.Record) -> IncomingMessage:
    return IncomingMessage(*(row[name] for name in IncomingMessage._fields if name != "user_id"))


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
