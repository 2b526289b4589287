"""The stored events about templates, numbers and accounts, and what they change in the tables.

Law: one process at a time acts on them, in their order, in the transaction that takes the event.
"""

from typing import Any, NamedTuple

from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries


class StoredEvent(NamedTuple):
    """An event that nobody acted on before. `is_stale`: a later one about its subject is stored."""

    field: str
    value: dict[str, Any]
    is_stale: bool


async def take_oldest(connection: Connection) -> StoredEvent | None:
    """Take the oldest event and mark it as done; None if there is none, or another process takes them."""
    sql = queries("inbox")
    if not await connection.fetchval(sql["act_lock"]):
        return None
    row = await connection.fetchrow(sql["to_act"])
    if row is None:
        return None
    await connection.execute(sql["acted"], row["event_key"])
    return StoredEvent(row["field"], row["value"], row["stale"])


async def set_template_status(
    connection: Connection, name: str, language: str, status: str | None, reason: str | None
) -> None:
    """Store the status, unless it is None, and have campaigns compared with the template."""
    await connection.execute(queries("inbox")["set_template_status"], name, language, status, reason)


async def set_template_category(
    connection: Connection, name: str, language: str, category: str | None
) -> None:
    """Store the category that the template has now, unless it is None."""
    await connection.execute(queries("service_facts")["set_category"], name, language, category)


async def note_template_change(connection: Connection, name: str, language: str) -> None:
    """Have campaigns compared with the template."""
    await connection.execute(queries("inbox")["note_template_change"], name, language)


async def refresh_number(connection: Connection, digits: str, tier: str | None, known: str | None) -> None:
    """Store the tier of the number with this phone, and have its other facts read from the service.

    `known` is the tier if it is understood, else None. A tier that is None stays as it is.
    """
    await connection.execute(queries("inbox")["refresh_number"], digits, tier, known)


async def refresh_numbers(connection: Connection) -> None:
    """Have the facts of every number read from the service."""
    await connection.execute(queries("inbox")["refresh_numbers"])
