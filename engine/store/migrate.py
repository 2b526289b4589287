"""The versions of the schema: each is applied once, in order, under an advisory lock.

A version is a directory `sql/schema/<number>_<name>` of SQL files that are run in the order of their names.
The first schema is 0001. Until 0.1.0 is released, a change goes into it, and a database that an earlier state
of it made is refused. A version that was released never changes, and its checksum is compared: from then on,
a change of the schema adds the next version.
"""

import hashlib
import re
import secrets
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import asyncpg

from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.store.connect_errors import safe_url
from drumbeat.engine.store.database import Connection, close, connect
from drumbeat.engine.store.queries import queries

OLDEST_POSTGRES, NEWEST_POSTGRES = 15, 18
MIGRATION_TIMEOUT_S = 600.0
# A person who starts anew with the same list writes to everybody again, and to those who opted out.
NEW_DATABASE = (
    "a new database does not know what was already sent, nor who opted out: the same campaign would go to "
    "everybody again. First let the version that made this database finish each campaign, or end it with "
    "`drumbeat campaign cancel NAME`. With that version, store who was sent to, "
    "`drumbeat campaign export NAME --state accepted --state sent --state delivered --state read "
    "--state unknown --output sent.csv`, and `drumbeat suppress list > suppressed.csv`. Then create an empty "
    "database with `createdb`, name it in DRUMBEAT_DATABASE_URL (for the embedded Postgres: name a new "
    "directory in DRUMBEAT_HOME), and run `drumbeat db migrate` and "
    "`drumbeat suppress import suppressed.csv`. Create what is left of a campaign with `--exclude sent.csv`"
)
_INSTALLATION_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Migration:
    """A version: `0001_first` has number 1 and name "first". `sql` is the text of all of its files."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


@cache
def migrations() -> tuple[Migration, ...]:
    """Return the migrations that this version ships, in order."""
    found = [
        Migration(int(match[1]), match[2], _sql(version))
        for version in (files("drumbeat.engine.store") / "sql" / "schema").iterdir()
        if (match := re.fullmatch(r"(\d{4})_(\w+)", version.name))
    ]
    return tuple(sorted(found, key=lambda migration: migration.number))


def _sql(version: Traversable) -> str:
    parts = sorted((file.name, file) for file in version.iterdir() if file.name.endswith(".sql"))
    return "\n".join(file.read_text("utf-8") for _, file in parts)


async def migrate(url: str) -> list[Migration]:
    """Bring the database at `url` to this version, and return what was applied (empty if nothing was).

    Safe to run at the same time from several processes. Raises ConfigurationError if the server's version is
    not 15 to 18, or if the database was made by an unreleased version, is newer than this version, or belongs
    to another program. Raises TryLater while a process of the former version sends.
    """
    connection = await connect(url, command_timeout_s=MIGRATION_TIMEOUT_S)
    try:
        _require_version(connection, url)
        async with connection.transaction():
            await connection.execute(queries("migrate")["lock"])
            return await _migrate(connection, url)
    except asyncpg.InvalidSchemaNameError as error:
        problem = f"the user of {safe_url(url)} can use no schema of its search_path: {error}"
        raise ConfigurationError(problem, remedy="create one that the user owns") from error
    except (
        asyncpg.DuplicateTableError,
        asyncpg.DuplicateFunctionError,
        asyncpg.DuplicateObjectError,
    ) as error:
        raise _foreign_tables(f"{safe_url(url)}: {error}") from error
    finally:
        await close(connection)


async def _migrate(connection: Connection, url: str) -> list[Migration]:
    sql = queries("migrate")
    await connection.execute(sql["create_versions"])
    applied = await _applied(connection)
    pending = pending_migrations(applied)
    if not applied:
        _require_unicode(connection, url)
    elif pending and (owner := await connection.fetchval(sql["sender"])) is not None:
        raise TryLater(
            f"{safe_url(url)} has the schema of a former version, with which a process sends: {owner}",
            remedy="stop every sender, worker and receiver first",
        )
    for migration in pending:
        await _apply(connection, migration)
    await connection.execute(queries("installation")["identify"], _new_installation())
    return pending


async def is_current(connection: Connection) -> bool:
    """Return whether the schema is this version's. One cheap query, which every start of a command makes."""
    try:
        return not pending_migrations(await _applied(connection))
    except asyncpg.UndefinedTableError:
        return False


async def _applied(connection: Connection) -> dict[int, str]:
    """Return numbers and checksums of the applied versions."""
    try:
        rows = await connection.fetch(queries("migrate")["applied"])
    except asyncpg.UndefinedColumnError as error:
        raise _foreign_tables("its table schema_migrations") from error
    return {row["number"]: row["checksum"] for row in rows}


def pending_migrations(applied: dict[int, str]) -> list[Migration]:
    """Return our versions that are not in `applied` (number → checksum). ConfigurationError
    if they disagree.
    """
    ours = {migration.number: migration for migration in migrations()}
    for number in sorted(applied.keys() & ours.keys()):
        if applied[number] != ours[number].checksum:
            raise ConfigurationError(
                f"an unreleased version of Drumbeat made this database: its schema {number:04} is not "
                "the one that this version ships, and cannot be upgraded",
                remedy=NEW_DATABASE,
            )
    if newer := sorted(applied.keys() - ours.keys()):
        raise ConfigurationError(
            f"the database has schema {newer[-1]:04}, which this version does not know; upgrade Drumbeat"
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


def _foreign_tables(what: str) -> ConfigurationError:
    return ConfigurationError(
        f"the database holds tables of another program: {what}",
        remedy="give Drumbeat a database of its own, or a schema, first in its user's search_path",
    )


def _new_installation() -> str:
    return "".join(secrets.choice(_INSTALLATION_ALPHABET) for _ in range(8))
