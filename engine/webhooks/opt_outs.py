"""People who opt out by a message, or take that back, in the transaction that stores the message.

Laws:
* Only a message that was not stored before counts. The service repeats events: a repeated one must not
  suppress a person again whom somebody has taken off the list since.
* A word takes back what words and buttons did, and nothing else: an entry made by a command, a file or the
  service stays.
* Messages may come in any order. One that opts in does nothing if the person opted out at its time or later.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from engine.core.opt_out import WordMessage, normalised, read_word
from engine.core.phone_aliases import phone_aliases
from engine.store.database import Connection
from engine.store.queries import queries
from engine.webhooks.events import IncomingMessage

Found = tuple[IncomingMessage, WordMessage]


@dataclass(frozen=True, slots=True)
class Words:
    """Normalised. `out`: by which people opt out. `back`: by which they take that back."""

    out: frozenset[str]
    back: frozenset[str]

    @classmethod
    async def read(cls, connection: Connection) -> "Words":
        rows = await connection.fetch(queries("guards")["opt_out_words"])
        both = [
            frozenset(normalised(row["word"]) for row in rows if row["opts_in"] is is_in)
            for is_in in (False, True)
        ]
        return cls(*both)


async def note_opt_outs(
    connection: Connection, messages: Sequence[IncomingMessage], new: Collection[str]
) -> None:
    """Change the list as the messages ask for. `new`: wamids of those not stored before."""
    words = await Words.read(connection)
    bodies = [(message, orjson.loads(message.body)) for message in messages if message.wamid in new]
    out, back = _found(bodies, words.out), _found(bodies, words.back)
    if out or back:
        await connection.execute(queries("inbox")["lock_opt_outs"])
    if out:
        await _suppress(connection, out)
    for message, word in back:
        await _take_back(connection, message, word, words)


def _found(bodies: Sequence[tuple[IncomingMessage, Any]], words: Collection[str]) -> list[Found]:
    return [(message, word) for message, body in bodies if (word := read_word(body, words)) is not None]


async def _suppress(connection: Connection, found: Sequence[Found]) -> None:
    listed = [
        (phone, word.opt_out_reason, word.source)
        for message, word in found
        for phone in phone_aliases(message.sender)
    ]
    await connection.execute(queries("inbox")["suppress_senders"], *map(list, zip(*listed, strict=True)))
    details = [_detail(message, word) for message, word in found]
    await connection.execute(queries("inbox")["audit_words"], "opt-out", details)


async def _take_back(
    connection: Connection, message: IncomingMessage, word: WordMessage, words: Words
) -> None:
    phones = list(phone_aliases(message.sender))
    later = await connection.fetch(
        queries("inbox")["messages_since"], list(map(str, phones)), message.sent_at
    )
    if any(read_word(row["body"], words.out) for row in later):
        return
    if await connection.fetch(queries("inbox")["take_back"], phones):
        await connection.execute(queries("inbox")["audit_words"], "opt-in", [_detail(message, word)])


def _detail(message: IncomingMessage, word: WordMessage) -> dict[str, str | None]:
    """What the audit keeps. It names no person: the message does, as long as it is kept."""
    return {
        "source": word.source,
        "word": word.word,
        "wamid": message.wamid,
        "number": message.phone_number_id,
    }
