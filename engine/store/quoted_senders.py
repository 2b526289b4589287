"""The senders whom a message names only by a service's id. The message that they quote has their phone."""

from collections.abc import Sequence

import orjson

from drumbeat.engine.core.events.people import quoted_wamid
from drumbeat.engine.core.events.records import IncomingMessage
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries


async def with_senders(connection: Connection, messages: Sequence[IncomingMessage]) -> list[IncomingMessage]:
    """Return the messages, with the phone in place of each sender whose phone a known message of ours has."""
    quotes = {
        message.wamid: quoted
        for message in messages
        if not phone_aliases(message.sender) and (quoted := quoted_wamid(orjson.loads(message.body)))
    }
    if not quotes:
        return list(messages)
    rows = await connection.fetch(queries("opt_outs")["quoted_people"], sorted(set(quotes.values())))
    phones = {row["wamid"]: str(row["phone"]) for row in rows}
    return [
        message._replace(sender=phones.get(quotes.get(message.wamid, ""), message.sender))
        for message in messages
    ]
