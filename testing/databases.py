"""A database for each test: a copy of a migrated template, made while the test before it runs."""

import asyncio
import secrets
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from drumbeat.engine.store.migrate import migrate
from drumbeat.engine.store.queries import queries

TEMPLATE = "drumbeat_template"
# A test's data need not outlive a crash of the machine.
SERVER_SETTINGS = (
    "fsync = off",
    "synchronous_commit = off",
    "full_page_writes = off",
    "max_wal_size = '1GB'",
)


def run_apart(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end on a loop and thread of its own: a test's loop may be set, but not run."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


async def execute(url: str, *statements: str) -> None:
    """Run statements in a session of their own, with nothing of ours that a test may have patched."""
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def prepare_server(url: str) -> None:
    """Make the server quick and careless, and make the template."""
    settings = [f"ALTER SYSTEM SET {setting}" for setting in SERVER_SETTINGS]
    await execute(url, *settings, "SELECT pg_reload_conf()", f"CREATE DATABASE {TEMPLATE}")
    await migrate(with_database(url, TEMPLATE))
    await execute(url, f"ALTER DATABASE {TEMPLATE} ALLOW_CONNECTIONS false")


class Databases:
    """Makes databases in a thread of its own, one ahead of what is asked for, and drops them there."""

    def __init__(self, server_url: str, template: str) -> None:
        self._server_url = server_url
        self._template = template
        # A copy, as a restored database would be. Here it is meant.
        self._accept = (queries("installation")["accept_rollback"],) if template == TEMPLATE else ()
        self._thread = ThreadPoolExecutor(1)
        self._next: Future[str] = self._thread.submit(self._create)

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """The URL of an unused database."""
        url = self._next.result()
        self._next = self._thread.submit(self._create)
        try:
            yield url
        finally:
            name = urlsplit(url).path[1:]
            self._thread.submit(asyncio.run, execute(self._server_url, f"DROP DATABASE {name} WITH (FORCE)"))

    def close(self) -> None:
        """Wait for the last drop. The database that was made ahead goes with the server."""
        self._thread.shutdown()

    def _create(self) -> str:
        # FILE_COPY takes 30 ms where WAL_LOG, the server's default, takes 200.
        name = f"test_{secrets.token_hex(6)}"
        create = f"CREATE DATABASE {name} TEMPLATE {self._template} STRATEGY FILE_COPY"
        asyncio.run(execute(self._server_url, create))
        url = with_database(self._server_url, name)
        if self._accept:
            asyncio.run(execute(url, *self._accept))
        return url
