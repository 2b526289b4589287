"""The actions on what the service says of people: they opted out, took that back, or have another number.

Laws:

* An event counts once, by its key, whatever a person did to the list in between.
* An older event never undoes a newer one, by the service's time. Of two in one second, the stop counts.
* `resume` takes back what `stop` did, and nothing else. Only a person takes a 131050 back.
* An event may come before its message is known, because the reply is on its way. It waits until then.
"""

from collections.abc import Sequence

import asyncpg

from drumbeat.engine.core.events.records import OptOutEvent
from drumbeat.engine.core.events.waits import UNMATCHED_DAYS, next_wait_s
from drumbeat.engine.core.phone_aliases import phone_aliases
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.opt_out_words import STOPPED_IN_APP
from drumbeat.engine.store.opting_out import audit_service, follow_changed_numbers, suppress_for_good
from drumbeat.engine.store.queries import queries

REFUSED = "opted out (131050)"


async def keep_events(connection: Connection, events: Sequence[OptOutEvent]) -> list[str]:
    """Store the events. Return the keys of those that count: a repeated one does not."""
    columns = map(list, zip(*events, strict=True))
    rows = await connection.fetch(queries("opt_outs")["keep_events"], *columns)
    return [row["event_key"] for row in rows]


async def act_on_events(connection: Connection, keys: Sequence[str]) -> int:
    """Act on the stored events whose people are known now; the others wait.

    Returns how many could not be tied to a person when they were looked for again for the first time.
    """
    sql = queries("opt_outs")
    await connection.execute(sql["lock"])
    rows = await connection.fetch(sql["people_of_events"], list(keys), UNMATCHED_DAYS)
    found = [
        (row["event_key"], row["phones"][0], None)
        if row["phones"]
        else (row["event_key"], None, next_wait_s(row["matches_tried"], hopeful=row["hopeful"]))
        for row in rows
    ]
    await connection.execute(sql["note_people"], *map(list, zip(*found, strict=True)))
    known = [row for row in rows if row["phones"]]
    refused = [phone for row in known if row["kind"] == "refused" for phone in _aliases(row)]
    await suppress_for_good(connection, [(phone, REFUSED) for phone in refused])
    for row in known:
        if row["kind"] in ("stop", "resume"):
            await _obey(connection, row)
        elif row["kind"] == "changed":
            await follow_changed_numbers(connection, _aliases(row))
    untied = [row for row in rows if not row["phones"] and row["kind"] in ("refused", "stop")]
    return sum(row["matches_tried"] == 1 for row in untied)


async def _obey(connection: Connection, row: asyncpg.Record) -> None:
    """Carry out what the person chose in the app's menu."""
    sql, phones = queries("opt_outs"), _aliases(row)
    why = f"{row['kind']} in the app"
    if row["kind"] == "resume":
        if not await connection.fetchval(sql["stop_stands"], phones, None):
            gone = await connection.fetch(sql["take_back_preference"], phones)
            await audit_service(connection, "opt-in", len(gone), why=why, category=row["category"])
    elif await connection.fetchval(sql["stop_stands"], phones, row["event_key"]):
        added = await connection.fetch(sql["suppress_by_preference"], phones, STOPPED_IN_APP)
        await audit_service(connection, "opt-out", len(added), why=why, category=row["category"])
        await follow_changed_numbers(connection, phones)


def _aliases(row: asyncpg.Record) -> list[int]:
    return [alias for phone in row["phones"] for alias in phone_aliases(str(phone))]
