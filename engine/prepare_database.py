"""The preparation of the database for a command: the embedded Postgres starts if no URL is set, then versions
migrate.
"""

import asyncio
from pathlib import Path

from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import close, connect
from drumbeat.engine.store.migrate import is_current, migrate


def prepare_database(settings: Settings) -> str:
    """Start and migrate the database, and return its URL.

    It blocks, so call it before the event loop starts. Raises what `start_embedded` and `migrate` raise.
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
    connection = await connect(url)
    try:
        current = await is_current(connection)
    finally:
        await close(connection)
    if not current:
        await migrate(url)
