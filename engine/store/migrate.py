"""Numbered SQL migrations, applied once each, in order, under an advisory lock, with checksums."""

import hashlib
import re
import secrets
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import asyncpg

from engine.errors import ConfigurationError, TryLater
from engine.store.database import Connection, close, connect
from engine.store.queries import queries
from engine.store.refusals import safe_url

OLDEST_POSTGRES, NEWEST_POSTGRES = 15, 18
MIGRATION_TIMEOUT_S = 600.0
_INSTALLATION_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file: `0001_initial.sql` → number 1, name "initial"."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    """The migrations this version ships, in order."""
    found = [
        Migration(int(match[1]), match[2], file.read_text("utf-8"))
        for file in (files("engine.store") / "sql" / "migrations").iterdir()
        if (match := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name))
    ]
    return tuple(sorted(found, key=lambda migration: migration.number))


async def migrate(url: str) -> list[Migration]:
    """Bring the database at `url` to this version; returns what was applied (empty when there was nothing).

    Safe to run at the same time from several processes. Raises ConfigurationError when the server's version
    is not 15 to 18, when an applied migration differs from ours, when the database is newer than we are, or
    is no place for us; TryLater while a process of the former version sends.
    """
    connection = await connect(url, command_timeout_s=MIGRATION_TIMEOUT_S)
    try:
        _require_version(connection, url)
        async with connection.transaction():
            await connection.execute(queries("migrate")["lock"])
            return await _migrate(connection, url)
    except asyncpg.InvalidSchemaNameError as error:
        problem = f"no schema in the search_path of {safe_url(url)} is there for its user: {error}"
        raise ConfigurationError(problem, remedy="create one that the user owns") from error
    except (
        asyncpg.DuplicateTableError,
        asyncpg.DuplicateFunctionError,
        asyncpg.DuplicateObjectError,
    ) as error:
        raise _shared(f"{safe_url(url)}: {error}") from error
    finally:
        await close(connection)


async def _migrate(connection: Connection, url: str) -> list[Migration]:
    sql = queries("migrate")
    await connection.execute(sql["create_ledger"])
    applied = await _applied(connection)
    pending = pending_migrations(applied)
    if not applied:
        _require_unicode(connection, url)
    elif pending and (owner := await connection.fetchval(sql["sender"])) is not None:
        raise TryLater(
            f"{safe_url(url)} has tables of a former version, by which a process sends: {owner}",
            remedy="stop every sender, worker and receiver first",
        )
    for migration in pending:
        await _apply(connection, migration)
    await connection.execute(sql["identify_installation"], _new_installation())
    return pending


async def is_current(connection: Connection) -> bool:
    """Whether this version's migrations, and no newer ones, are applied: one cheap query for every start."""
    try:
        return not pending_migrations(await _applied(connection))
    except asyncpg.UndefinedTableError:
        return False


async def _applied(connection: Connection) -> dict[int, str]:
    """Numbers and checksums."""
    try:
        rows = await connection.fetch(queries("migrate")["applied"])
    except asyncpg.UndefinedColumnError as error:
        raise _shared("its table schema_migrations") from error
    return {row["number"]: row["checksum"] for row in rows}


def pending_migrations(applied: dict[int, str]) -> list[Migration]:
    """Which of ours are not in `applied` (number → checksum). Raises ConfigurationError on disagreement."""
    ours = {migration.number: migration for migration in migrations()}
    if newer := sorted(applied.keys() - ours.keys()):
        raise ConfigurationError(
            f"the database has migration {newer[-1]:04}, which this version does not know; upgrade Drumbeat"
        )
    for number, checksum in applied.items():
        if ours[number].checksum != checksum:
            raise ConfigurationError(
                f"migration {number:04} of the database is not the one this version ships"
            )
    return [migration for number, migration in sorted(ours.items()) if number not in applied]


async def _apply(connection: Connection, migration: Migration) -> None:
    await connection.execute(migration.sql)
    await connection.execute(
        queries("migrate")["record"], migration.number, migration.name, migration.checksum
    )


def _require_version(connection: Connection, url: str) -> None:
    major = connection.get_server_version().major
    if not OLDEST_POSTGRES <= major <= NEWEST_POSTGRES:
        raise ConfigurationError(
            f"{safe_url(url)} is Postgres {major}; Drumbeat needs {OLDEST_POSTGRES} to {NEWEST_POSTGRES}"
        )


def _require_unicode(connection: Connection, url: str) -> None:
    encoding = connection.get_settings().server_encoding
    if encoding != "UTF8":
        problem = f"{safe_url(url)} stores texts as {encoding}, which does not hold every name"
        raise ConfigurationError(problem, remedy="create a database WITH ENCODING 'UTF8' TEMPLATE template0")


def _shared(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"the database holds tables of another program: {what}",
        remedy="give Drumbeat a database of its own, or a schema, first in its user's search_path",
    )


def _new_installation() -> str:
    return "".join(secrets.choice(_INSTALLATION_ALPHABET) for _ in range(8))
