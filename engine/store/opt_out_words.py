"""The people who opt out by a message, or take that back, in the transaction that stores the message.

Laws:
* Only a message that was not stored before counts. The service repeats events: a repeated one must not
  suppress a person again whom somebody has taken off the list since.
* A word takes back what words and buttons did, and nothing else: an entry made by a command, a file or the
  service stays, and so does a stop in the app's menu.
* Messages may come in any order. The latest word counts, by the service's time; of two in one second, the
  one that opts out.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from drumbeat.engine.core.events.records import IncomingMessage
from drumbeat.engine.core.limits.opt_out import WordMessage, normalised, read_word
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.opting_out import follow_changed_numbers
from drumbeat.engine.store.queries import queries

STOPPED_IN_APP = "opted out (stopped messages in the app)"
Found = tuple[IncomingMessage, WordMessage]


@dataclass(frozen=True, slots=True)
class Words:
    """The words, normalised. People opt out by those of `out`, and take that back by those of `back`."""

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


async def note_opt_outs(connection: Connection, messages: Iterable[IncomingMessage]) -> None:
    """Change the list as the messages ask for. None of them counted before.

    A sender who is no phone changes nothing.
    """
    words = await Words.read(connection)
    bodies = [(message, orjson.loads(message.body)) for message in messages if phone_aliases(message.sender)]
    out, back = found_words(bodies, words.out), found_words(bodies, words.back)
    if out or back:
        await connection.execute(queries("opt_outs")["lock"])
    await _suppress(connection, await _latest(connection, out, words.back, or_same_second=False))
    for message, word in await _latest(connection, back, words.out, or_same_second=True):
        await _take_back(connection, message, word)


def found_words(bodies: Iterable[tuple[IncomingMessage, Any]], words: Collection[str]) -> list[Found]:
    """Return the messages that consist of one of the words."""
    return [(message, word) for message, body in bodies if (word := read_word(body, words)) is not None]


async def _latest(
    connection: Connection, found: Sequence[Found], undoing: Collection[str], *, or_same_second: bool
) -> list[Found]:
    """Return those that no later message of the same person undoes."""
    if not (found and undoing):
        return list(found)
    asked = [(",".join(map(str, phone_aliases(message.sender))), message.sent_at) for message, _ in found]
    rows = await connection.fetch(queries("opt_outs")["messages_since"], *map(list, zip(*asked, strict=True)))
    undone = {
        row["position"] - 1
        for row in rows
        if (or_same_second or row["sent_at"] > asked[row["position"] - 1][1])
        and read_word(row["body"], undoing)
    }
    return [each for at, each in enumerate(found) if at not in undone]


async def _suppress(connection: Connection, found: Sequence[Found]) -> None:
    if not found:
        return
    listed = [
        (phone, word.opt_out_reason, word.source)
        for message, word in found
        for phone in phone_aliases(message.sender)
    ]
    await connection.execute(queries("opt_outs")["suppress_senders"], *map(list, zip(*listed, strict=True)))
    details = [_detail(message, word) for message, word in found]
    await connection.execute(queries("opt_outs")["audit_words"], "opt-out", details)
    await follow_changed_numbers(connection, [phone for phone, _, _ in listed])


async def _take_back(connection: Connection, message: IncomingMessage, word: WordMessage) -> None:
    phones = list(phone_aliases(message.sender))
    if await connection.fetch(queries("opt_outs")["take_back_words"], phones, STOPPED_IN_APP):
        await connection.execute(queries("opt_outs")["audit_words"], "opt-in", [_detail(message, word)])


def _detail(message: IncomingMessage, word: WordMessage) -> dict[str, str | None]:
    """Return what the audit keeps. It names no person: the message does, as long as it is kept."""
    return {
        "source": word.source,
        "word": word.word,
        "wamid": message.wamid,
        "number": message.phone_number_id,
    }
