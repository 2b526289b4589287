"""Every "not found" names the database it looked in: most often the wrong one was asked."""

from __future__ import annotations

from engine.store.database import Connection, Pool
from engine.store.queries import queries


async def place(database: Pool | Connection) -> str:
    """Where a database is, in words for people: its name and its address or socket directory."""
    return f"database {await database.fetchval(queries('session')['describe_database'])}"
