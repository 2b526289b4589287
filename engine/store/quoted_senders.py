"""The senders whom a message names only by a service's id: the message that they quote has their phone, or an
earlier event had both.
"""

from collections.abc import Iterable, Sequence

import orjson

from drumbeat.engine.core.events.people import quoted_wamid
from drumbeat.engine.core.events.records import IncomingMessage, PersonId
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries


async def with_senders(connection: Connection, messages: Sequence[IncomingMessage]) -> list[IncomingMessage]:
    """Return the messages, with the phone in place of each sender whose phone is known."""
    unnamed = [message for message in messages if not phone_aliases(message.sender)]
    if not unnamed:
        return list(messages)
    sql = queries("opt_outs")
    quotes = {
        message.wamid: quoted for message in unnamed if (quoted := quoted_wamid(orjson.loads(message.body)))
    }
    quoted_rows = await connection.fetch(sql["quoted_people"], sorted(set(quotes.values())))
    of_quotes = {row["wamid"]: str(row["phone"]) for row in quoted_rows}
    ids = sorted({message.sender for message in unnamed if message.sender})
    of_ids = {row["user_id"]: str(row["phone"]) for row in await connection.fetch(sql["people_of_ids"], ids)}
    phones = {
        message.wamid: phone
        for message in unnamed
        if (phone := of_quotes.get(quotes.get(message.wamid, "")) or of_ids.get(message.sender))
    }
    return [message._replace(sender=phones.get(message.wamid, message.sender)) for message in messages]


def ids_in(messages: Iterable[IncomingMessage]) -> list[PersonId]:
    """Return the senders whom a message names by phone and by id."""
    return [
        PersonId(message.user_id, message.sender, message.sent_at) for message in messages if message.user_id
    ]


async def note_ids(connection: Connection, people: Iterable[PersonId]) -> None:
    """Store which id belongs to which phone, and have earlier events of the id looked at again.

    The latest phone of an id counts, by the service's time.
    """
    latest = {
        person.user_id: person
        for person in sorted(people, key=lambda person: person.seen_at)
        if phone_aliases(person.phone)
    }
    if latest:
        sql, ids = queries("opt_outs"), sorted(latest)
        phones = [int(latest[each].phone) for each in ids]
        await connection.execute(sql["note_ids"], ids, phones, [latest[each].seen_at for each in ids])
        await connection.execute(sql["look_again"], ids)
