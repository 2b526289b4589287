"""The preparation of the database for a command: the embedded Postgres starts if no URL is set, then versions
migrate.
"""

import asyncio
import time
from pathlib import Path

import asyncpg

from drumbeat.engine.errors import TryLater
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.connect_errors import safe_url
from drumbeat.engine.store.database import close, connect
from drumbeat.engine.store.migrate import is_current, migrate

LOOK_S = 1.0


def prepare_database(settings: Settings) -> str:
    """Start and migrate the database, and return its URL.

    It blocks, so call it before the event loop starts. Raises what `start_embedded` and `migrate` raise, and
    TryLater if its user may not migrate: its owner's migration has not run yet.
    """
    given = settings.database_url
    url = given.get_secret_value() if given is not None else _start_embedded(settings.home)
    asyncio.run(_migrate_when_needed(url))
    return url


def _start_embedded(home: Path) -> str:
    # Imported here because a command with a database URL needs neither psutil nor the server's package.
    from drumbeat.engine.process.embedded_postgres import start_embedded

    return start_embedded(home)


async def _migrate_when_needed(url: str) -> None:
    if await _is_ready(url):
        return
    try:
        await migrate(url)
    except asyncpg.InsufficientPrivilegeError as error:
        raise _not_ready(url) from error


async def await_schema(url: str, within_s: float) -> None:
    """Wait until somebody else has migrated the database. Raise TryLater if nobody did within that time."""
    end_s = time.monotonic() + within_s
    while not await _is_ready(url):
        if time.monotonic() >= end_s:
            raise _not_ready(url)
        await asyncio.sleep(LOOK_S)


async def _is_ready(url: str) -> bool:
    connection = await connect(url)
    try:
        return await is_current(connection)
    finally:
        await close(connection)


def _not_ready(url: str) -> TryLater:
    return TryLater(
        f"{safe_url(url)} was not brought to this version yet",
        remedy="run `drumbeat db migrate` as the user who owns its tables",
    )
