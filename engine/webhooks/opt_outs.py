"""People who opt out by a message: each is suppressed in the transaction that stores the message.

Law: only a message that was not stored before counts. The service repeats events: a repeated one must not
suppress a person again whom somebody has taken off the list since.
"""

from collections.abc import Collection, Sequence

import orjson

from engine.core.opt_out import OptOut, normalised, read_opt_out
from engine.core.phone_aliases import phone_aliases
from engine.store.database import Connection
from engine.store.queries import queries
from engine.webhooks.events import IncomingMessage


async def suppress_senders(
    connection: Connection, messages: Sequence[IncomingMessage], new: Collection[str]
) -> None:
    """Suppress whoever opted out by one of the messages. `new`: wamids of those not stored before."""
    rows = await connection.fetch(queries("guards")["opt_out_words"])
    words = frozenset(normalised(row["word"]) for row in rows)
    found = [
        (message, opt_out)
        for message in messages
        if message.wamid in new and (opt_out := read_opt_out(orjson.loads(message.body), words))
    ]
    if not found:
        return
    listed = [
        (phone, opt_out.reason, opt_out.source)
        for message, opt_out in found
        for phone in phone_aliases(message.sender)
    ]
    await connection.execute(queries("inbox")["suppress_senders"], *map(list, zip(*listed, strict=True)))
    details = [_detail(message, opt_out) for message, opt_out in found]
    await connection.execute(queries("inbox")["audit_opt_outs"], details)


def _detail(message: IncomingMessage, opt_out: OptOut) -> dict[str, str | None]:
    """What the audit keeps. It names no person: the message does, as long as it is kept."""
    return {
        "source": opt_out.source,
        "word": opt_out.word,
        "wamid": message.wamid,
        "number": message.phone_number_id,
    }
