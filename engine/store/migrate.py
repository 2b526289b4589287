"""The migration of a database: each version of the schema is applied once, in order, under a lock."""

import secrets
from typing import NoReturn

import asyncpg
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random

from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.store.connect_errors import safe_url
from drumbeat.engine.store.database import Connection, close, connect, program_of
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.schema_version import SCHEMA_LOCK, Migration, pending_versions

OLDEST_POSTGRES, NEWEST_POSTGRES = 15, 18
MIGRATION_TIMEOUT_S = 600.0
LOCK_TRIES = 30  # of half a second each, a second apart
# Beside other processes: nobody claims with a table that a version holds. A lease lasts longer than that.
HOLD_S_MAX = 2.0
NAMED_MAX = 10  # so many processes are named in a refusal
_INSTALLATION_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


async def migrate(url: str) -> list[Migration]:
    """Bring the database at `url` to this version, and return what was applied (empty if nothing was).

    Safe to run at the same time from several processes, and while processes of a former version work, unless
    a version removes what they use. Raises ConfigurationError if the server's version is not 15 to 18, or if
    the database was made by an unreleased version, needs a newer program, or belongs to another program.
    Raises TryLater while a process is connected that a version would break, if a table stays locked for
    LOCK_TRIES tries, or if a version takes longer than HOLD_S_MAX beside other processes.
    """
    connection = await connect(url, command_timeout_s=MIGRATION_TIMEOUT_S)
    try:
        _require_version(connection, url)
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
    """Apply the versions that are missing, each in a transaction of its own."""
    done: list[Migration] = []
    async for attempt in _retrying(url):
        with attempt:
            while (applied := await _apply_next(connection, url)) is not None:
                done.append(applied)
    return done


def _retrying(url: str) -> AsyncRetrying:
    """Return the tries of a migration that waits for a lock. In between, everybody else gets their turn."""

    def give_up(_: RetryCallState) -> NoReturn:
        raise TryLater(
            f"{safe_url(url)}: a table that the new schema changes stays locked",
            remedy="end the long transaction, such as a dump, or repeat the command when it has ended",
        )

    return AsyncRetrying(
        retry=retry_if_exception_type(asyncpg.LockNotAvailableError),
        wait=wait_random(0.5, 1.5),
        stop=stop_after_attempt(LOCK_TRIES),
        retry_error_callback=give_up,
    )


async def _apply_next(connection: Connection, url: str) -> Migration | None:
    """Apply the next version that is missing; None if there is none."""
    sql = queries("migrate")
    async with connection.transaction():
        await connection.execute(sql["lock"])
        await connection.execute(sql["create_versions"])
        applied = await _applied(connection)
        if not applied:
            _require_unicode(connection, url)
        pending = await pending_versions(connection, applied)
        if not pending:
            await connection.execute(queries("installation")["identify"], _new_installation())
            return None
        # Behind a statement that waits for a table, everybody else who uses the table waits, too.
        await connection.execute(sql["short_locks"])
        has_company = await _check_company(connection, url, pending[0].requires)
        await _apply(connection, url, pending[0], HOLD_S_MAX if applied and has_company else None)
    return pending[0]


async def _check_company(connection: Connection, url: str, requires: int) -> bool:
    """Return whether other processes are connected. Raise TryLater if one of them knows only schemas before
    `requires`.

    Installations in other schemas of the same database count, too: nothing tells them apart.
    """
    if requires > 1:
        await connection.execute(queries("migrate")["fence"])
    found = await connection.fetch(queries("migrate")["connected"], SCHEMA_LOCK)
    former = [
        f"{program_of(row['program'])} (schema {row['schema']:04})"
        for row in found
        if row["schema"] < requires
    ]
    if former:
        more = f" and {len(former) - NAMED_MAX} more" if len(former) > NAMED_MAX else ""
        raise TryLater(
            f"{safe_url(url)}: the new schema would break processes of a former version: "
            f"{', '.join(former[:NAMED_MAX])}{more}",
            remedy="replace or stop them first",
        )
    return bool(found)


async def is_current(connection: Connection) -> bool:
    """Return whether this version's schema is there, or a newer one with which it works. One or two cheap
    queries, which every start of a command makes.
    """
    try:
        return not await pending_versions(connection, await _applied(connection))
    except asyncpg.UndefinedTableError:
        return False


async def _applied(connection: Connection) -> dict[int, str]:
    """Return numbers and checksums of the applied versions."""
    try:
        rows = await connection.fetch(queries("migrate")["applied"])
    except asyncpg.UndefinedColumnError as error:
        raise _foreign_tables("its table schema_migrations") from error
    return {row["number"]: row["checksum"] for row in rows}


async def _apply(connection: Connection, url: str, migration: Migration, hold_s_max: float | None) -> None:
    """Apply a version. Raise TryLater if that takes longer than `hold_s_max`; None: no limit of its own."""
    try:
        await connection.execute(migration.sql, timeout=hold_s_max)
    except TimeoutError:
        if hold_s_max is None:
            raise
        raise TryLater(
            f"{safe_url(url)}: schema {migration.number:04} takes longer than {hold_s_max:g} s, and nobody "
            "could send meanwhile; nothing was changed",
            remedy="stop all workers, receivers and consoles, and repeat the command",
        ) from None
    await connection.execute(
        queries("migrate")["record"], migration.number, migration.name, migration.checksum, migration.requires
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
