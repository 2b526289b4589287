"""One embedded Postgres for a whole test run, and in it a fresh, migrated database for each test that asks.

The process that started the run owns the server's directory; xdist's workers are told where it is, and the
first of them that needs the server starts it. A process beside the run stops it and removes the directory at
the end, even of a run that was killed.
"""

import asyncio
import fcntl
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from hypothesis import HealthCheck, settings

from engine.process.embedded_postgres import start_embedded
from engine.store.database import Connection, Pool, connect, open_pool
from engine.store.migrate import migrate
from engine.store.queries import queries

TEMPLATE_DATABASE = "drumbeat_template"
# A test's data need not outlive a crash of the machine.
SERVER_SETTINGS = (
    "fsync = off",
    "synchronous_commit = off",
    "full_page_writes = off",
    "max_wal_size = '1GB'",
)

# An example may be slow on a busy machine: time is no verdict.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A run in the background of a script, or under nohup, ignores these, and so would all that a test starts.
_HEEDED = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGQUIT: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}

_HOME = pytest.StashKey[Path]()
_REAPER = pytest.StashKey["subprocess.Popen[bytes]"]()


def pytest_configure(config: pytest.Config) -> None:
    for name in [name for name in os.environ if name.startswith("DRUMBEAT_")]:
        del os.environ[name]  # a developer's own settings must not reach a test
    for number, action in _HEEDED.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, action)
    handed_down = getattr(config, "workerinput", {}).get("postgres_home")
    if handed_down is not None:
        config.stash[_HOME] = Path(handed_down)
        return
    # A short path: the server's socket lies in it, and a socket's path is at most 107 bytes.
    home = config.stash[_HOME] = Path(tempfile.mkdtemp(prefix="beat-", dir="/tmp"))
    root = Path(__file__).parents[1]
    command = [sys.executable, "-W", "ignore", "-m", "tests.reaper", str(home)]
    # In a session of its own: what kills the run's process group, or interrupts it, must not reach it.
    config.stash[_REAPER] = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=root, start_new_session=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["postgres_home"] = str(node.config.stash[_HOME])


def pytest_unconfigure(config: pytest.Config) -> None:
    reaper = config.stash.get(_REAPER, None)
    if reaper is not None:
        reaper.communicate()


def run_apart(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end on a loop and thread of its own: a test's loop may be set, but not run."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


def with_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


async def _execute(url: str, *statements: str) -> None:
    connection = await connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def _prepare_server(url: str) -> None:
    settings = [f"ALTER SYSTEM SET {setting}" for setting in SERVER_SETTINGS]
    await _execute(url, *settings, "SELECT pg_reload_conf()", f"CREATE DATABASE {TEMPLATE_DATABASE}")
    await migrate(with_database(url, TEMPLATE_DATABASE))
    await _execute(url, f"ALTER DATABASE {TEMPLATE_DATABASE} ALLOW_CONNECTIONS false")


@pytest.fixture(scope="session")
def server_url(pytestconfig: pytest.Config) -> str:
    """The run's Postgres: its database `postgres`. Whoever asks first starts it; the others wait."""
    home = pytestconfig.stash[_HOME]
    known = home / "url"
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not known.exists():
            url = start_embedded(home)
            run_apart(_prepare_server(url))
            known.write_text(url)
    return known.read_text()


def _fresh_database(server_url: str, template: str) -> Iterator[str]:
    name = f"test_{secrets.token_hex(6)}"
    run_apart(_execute(server_url, f"CREATE DATABASE {name} TEMPLATE {template}"))
    url = with_database(server_url, name)
    if template == TEMPLATE_DATABASE:  # a copy, as a restored one would be: here it is meant
        run_apart(_execute(url, queries("installation")["accept_rollback"]))
    yield url
    run_apart(_execute(server_url, f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture
def database_url(server_url: str) -> Iterator[str]:
    """A migrated database of this test's own."""
    yield from _fresh_database(server_url, TEMPLATE_DATABASE)


@pytest.fixture
def empty_database_url(server_url: str) -> Iterator[str]:
    """A database without any of our tables."""
    yield from _fresh_database(server_url, "template1")


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    """A pool on the test's database, as a sender has it."""
    async with open_pool(database_url, size=8, by_key=True) as pool:
        yield pool


@pytest.fixture
async def connection(pool: Pool) -> AsyncIterator[Connection]:
    """One of the pool's."""
    async with pool.acquire() as connection:
        yield connection


@pytest.fixture
async def other(database_url: str) -> AsyncIterator[Connection]:
    """A session of its own on the test's database, beside the pool's."""
    connection = await connect(database_url)
    yield connection
    await connection.close()
