"""One embedded Postgres for a whole test run, and in it a fresh, migrated database for each test that asks.

The process that started the run owns the server's directory; xdist's workers are told where it is, and the
first of them that needs the server starts it. A process beside the run stops it and removes the directory at
the end, even of a run that was killed.
"""

import fcntl
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from drumbeat.engine.process import telemetry
from drumbeat.engine.process.embedded_postgres import start_embedded
from drumbeat.engine.store.database import Connection, Pool, connect, open_pool
from drumbeat.testing.databases import TEMPLATE, Databases, prepare_server, run_apart
from tests.examples import register_profiles
from tests.expected_skips import RefusedSkips
from tests.warm import WarmPopen

register_profiles()

# A run in the background of a script, or under nohup, ignores these, and so would all that a test starts.
_HEEDED = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGQUIT: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}

_HOME = pytest.StashKey[Path]()
_REAPER = pytest.StashKey["subprocess.Popen[bytes]"]()


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RefusedSkips())
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
    command = [sys.executable, "-W", "ignore", "-m", "drumbeat.testing.reaper", str(home)]
    # In a session of its own: what kills the run's process group, or interrupts it, must not reach it.
    config.stash[_REAPER] = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=root, start_new_session=True)


@pytest.fixture(autouse=True)
def log_settings_kept() -> Iterator[None]:
    """A command that a test runs in this process sets the log up: the next test must not meet that."""
    before, handlers = structlog.get_config(), list(logging.getLogger().handlers)
    yield
    structlog.configure(**before)
    root = logging.getLogger()
    for handler in set(root.handlers) - set(handlers):
        if isinstance(handler, telemetry._Forward):
            root.removeHandler(handler)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["postgres_home"] = str(node.config.stash[_HOME])


def pytest_unconfigure(config: pytest.Config) -> None:
    reaper = config.stash.get(_REAPER, None)
    if reaper is not None:
        reaper.communicate()


@pytest.fixture(scope="session")
def server_url(pytestconfig: pytest.Config) -> str:
    """The run's Postgres: its database `postgres`. The first process that asks starts it; the others wait."""
    home = pytestconfig.stash[_HOME]
    known = home / "url"
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not known.exists():
            url = start_embedded(home)
            run_apart(prepare_server(url))
            known.write_text(url)
    return known.read_text()


@pytest.fixture(scope="session")
def migrated_databases(server_url: str) -> Iterator[Databases]:
    """Copies of the migrated template."""
    databases = Databases(server_url, TEMPLATE)
    yield databases
    databases.close()


@pytest.fixture(scope="session")
def empty_databases(server_url: str) -> Iterator[Databases]:
    """Databases without any of our tables."""
    databases = Databases(server_url, "template1")
    yield databases
    databases.close()


@pytest.fixture
def database_url(migrated_databases: Databases) -> Iterator[str]:
    """A migrated database of this test's own."""
    with migrated_databases.fresh() as url:
        yield url


@pytest.fixture
def empty_database_url(empty_databases: Databases) -> Iterator[str]:
    """A database without any of our tables, of this test's own."""
    with empty_databases.fresh() as url:
        yield url


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


@pytest.fixture
def warm_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain starts of the command through `subprocess` and `asyncio` are warm."""
    monkeypatch.setattr(subprocess, "Popen", WarmPopen)
