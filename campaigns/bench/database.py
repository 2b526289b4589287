"""A Postgres of the bench's own, durable as any, gone afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from campaigns.bench.guardian import began, ended
from campaigns.bench.machine import on_service_core
from campaigns.bench.processes import START_S_MAX, BenchFailed, first_line, held_signals, last_line, started
from engine.errors import ConfigurationError
from engine.process.embedded_postgres import is_usable_path, stop_embedded
from engine.store.database import Connection
from engine.store.queries import queries

HOME_PREFIX = "drumbeat-bench-"


@dataclass(frozen=True, slots=True)
class Database:
    """A server that runs, as that of the installation in `home`; `pid` of its first process."""

    url: str
    pid: int
    home: Path


@contextmanager
def postgres() -> Iterator[Database]:
    """An embedded server on the service's core while the block runs."""
    with ExitStack() as stack:
        with held_signals(), on_service_core():
            home = Path(tempfile.mkdtemp(prefix=HOME_PREFIX, dir=_parent()))
            began("home", home)
            stack.callback(_remove, home)
            home.chmod(0o711)  # for root it runs as another user, who has to pass
            url = _start(home)
        yield Database(url, server_pid(home), home)


def server_pid(home: Path) -> int:
    """The embedded Postgres of a home."""
    return int((home / "postgres" / "postmaster.pid").read_text("utf-8").split()[0])


async def refuse_foreign(connection: Connection) -> None:
    """ConfigurationError unless the database stands in a bench's own home: it is about to be emptied."""
    place = Path(await connection.fetchval(queries("bench")["data_directory"]))
    if not any(part.startswith(HOME_PREFIX) for part in place.parts):
        raise ConfigurationError("this database was not made by a bench", where=str(place))


def _parent() -> str | None:
    """A directory on a disk: /tmp may lie in memory, where making a write durable costs nothing."""
    chosen = os.environ.get("TMPDIR")
    meant = bool(chosen) and is_usable_path(tempfile.gettempdir())
    return None if meant or not os.access("/var/tmp", os.W_OK) else "/var/tmp"  # noqa: S108


def _start(home: Path) -> str:
    """By a process of its own: a Ctrl-C on the terminal must not reach what makes the database's files."""
    with (
        tempfile.TemporaryFile() as errors,
        started(["-m", "campaigns.cli", "db", "url"], stderr=errors, settings={"home": str(home)}) as process,
    ):
        url = first_line(process).decode().strip()
        if not url:
            raise BenchFailed(f"no Postgres started: {last_line(errors)}")
        process.wait(START_S_MAX)
        return url


def _remove(home: Path) -> None:
    with held_signals():
        stop_embedded(home)
        shutil.rmtree(home, ignore_errors=True)
        ended("home", home)
