"""Waits for a state. None waits for a time: the limit only ends a test that has failed."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, TypeAlias, cast

from drumbeat.engine.store.database import Connection, Pool

PATIENCE_S = 60.0
LOOK_S = 0.005
Database: TypeAlias = "Connection | Pool"


async def until(holds: Callable[[], object] | Callable[[], Awaitable[object]]) -> None:
    """Return when the state holds; TimeoutError after PATIENCE_S."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            held = holds()
            if await cast("Awaitable[object]", held) if isawaitable(held) else held:
                return
            await asyncio.sleep(LOOK_S)


async def until_reads(database: Database, query: str, expected: object = True, *given: object) -> None:
    """Return when the query's value is the expected one."""

    async def reads() -> bool:
        return bool(await database.fetchval(query, *given) == expected)

    await until(reads)


async def until_blocked(
    observer: Database, blocked: "Connection | int", work: "asyncio.Future[Any] | None" = None
) -> None:
    """Return when the connection, or the process of this id, waits for a lock; or `work`, which should, is done."""
    process = blocked if isinstance(blocked, int) else blocked.get_server_pid()

    async def is_blocked() -> bool:
        done = work is not None and work.done()
        return done or bool(await observer.fetchval("SELECT cardinality(pg_blocking_pids($1)) > 0", process))

    await until(is_blocked)


async def until_any_waits(observer: Database) -> None:
    """Return when a connection of this database waits for a lock."""
    await until_reads(
        observer,
        "SELECT count(*) > 0 FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
