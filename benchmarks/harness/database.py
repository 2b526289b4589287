"""A temporary Postgres with full durability, removed after the benchmark."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from drumbeat.benchmarks.harness.machine import on_service_core, tree_cpu_s
from drumbeat.benchmarks.harness.processes import (
    START_S_MAX,
    BenchmarkFailed,
    first_line,
    held_signals,
    last_line,
    started,
)
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.benchmarks.harness.watchdog import register, unregister
from drumbeat.engine.errors import ConfigurationError, Unreachable
from drumbeat.engine.process.embedded_postgres import is_usable_path, stop_embedded
from drumbeat.engine.store.database import Connection, connect

HOME_PREFIX = "drumbeat-bench-"
DATABASE_PREFIX = "drumbeat_bench_"


@dataclass(frozen=True, slots=True)
class Database:
    """A running server with its data in `home`; `pid` is the postmaster's. Of a server that somebody else
    runs (`own` False), neither is known.
    """

    url: str
    pid: int
    home: Path
    own: bool = True

    def cpu_s(self) -> float | None:
        """Return the CPU seconds of the server so far; None if somebody else runs it."""
        return tree_cpu_s(self.pid) if self.own else None


@contextmanager
def postgres(kept: Path | None = None) -> Iterator[Database]:
    """Run an embedded server on the service's core during the block. `kept`: the directory of its data, which
    stays.
    """
    with ExitStack() as stack:
        with held_signals(), on_service_core():
            if kept is not None:
                stack.callback(stop_embedded, kept)
                yield Database(_start(kept), server_pid(kept), kept)
                return
            home = Path(tempfile.mkdtemp(prefix=HOME_PREFIX, dir=_parent()))
            register("home", home)
            stack.callback(_remove, home)
            home.chmod(0o711)  # started by root, it runs as another user, who must be able to enter
            url = _start(home)
        yield Database(url, server_pid(home), home)


@contextmanager
def database_at(url: str) -> Iterator[Database]:
    """Make a database of its own on the server at `url`, and drop it after the block. Nothing else on that
    server is read or changed.

    ConfigurationError if the server's role may not make one; Unreachable if it does not answer.
    """
    name = f"{DATABASE_PREFIX}{secrets.token_hex(4)}"
    asyncio.run(_execute(url, f'CREATE DATABASE "{name}"'))
    try:
        yield Database(urlsplit(url)._replace(path=f"/{name}").geturl(), 0, Path(), own=False)
    finally:
        with held_signals():
            asyncio.run(_execute(url, f'DROP DATABASE "{name}" WITH (FORCE)'))


async def _execute(url: str, statement: str) -> None:
    try:
        connection = await connect(url, command_timeout_s=START_S_MAX)
    except (Unreachable, ConfigurationError) as error:  # they name the setting
        raise type(error)(error.what, where=error.where, remedy="check --database") from error
    try:
        await connection.execute(statement)
    except asyncpg.InsufficientPrivilegeError as error:
        raise ConfigurationError(
            f"the role of --database may not make a database: {error}", remedy="give it the right CREATEDB"
        ) from error
    finally:
        await connection.close()


def server_pid(home: Path) -> int:
    """Return the process id of the embedded Postgres in `home`."""
    return int((home / "postgres" / "postmaster.pid").read_text("utf-8").split()[0])


async def check_is_temporary(connection: Connection) -> None:
    """Raise ConfigurationError unless a benchmark created this server: its data is about to be deleted."""
    if str(await connection.fetchval(SQL["database_name"])).startswith(DATABASE_PREFIX):
        return
    directory = Path(await connection.fetchval(SQL["data_directory"]))
    if not any(part.startswith(HOME_PREFIX) for part in directory.parts):
        raise ConfigurationError("this database was not created by a benchmark", where=str(directory))


def _parent() -> str | None:
    """Return a directory on a disk. /tmp may be in memory, where a durable write costs nothing."""
    chosen = os.environ.get("TMPDIR")
    usable = bool(chosen) and is_usable_path(tempfile.gettempdir())
    return None if usable or not os.access("/var/tmp", os.W_OK) else "/var/tmp"


def _start(home: Path) -> str:
    """Start it from another process: Ctrl-C must not interrupt the creation of the database files."""
    with (
        tempfile.TemporaryFile() as errors,
        started(
            ["-m", "drumbeat.campaigns.cli", "db", "url"], stderr=errors, settings={"home": str(home)}
        ) as process,
    ):
        url = first_line(process).decode().strip()
        if not url:
            raise BenchmarkFailed(f"Postgres did not start: {last_line(errors)}")
        process.wait(START_S_MAX)
        return url


def _remove(home: Path) -> None:
    with held_signals():
        stop_embedded(home)
        shutil.rmtree(home, ignore_errors=True)
        unregister("home", home)
