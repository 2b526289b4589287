"""The name of the database in errors. A "not found" most often means that the wrong database was asked."""

from __future__ import annotations

from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries


async def describe_database(database: Pool | Connection) -> str:
    """Return the name of the database and its address or socket directory, for an error message."""
    return f"database {await database.fetchval(queries('session')['describe_database'])}"
