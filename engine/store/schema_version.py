"""The versions of the schema that this program ships, and what it can work with.

A version is a directory `sql/schema/<number>_<name>` of SQL files that are run in the order of their names.
The first schema is 0001. Until 0.1.0 is released, a change goes into it, and a database that an earlier state
of it made is refused. A version that was released never changes, and its checksum is compared: from then on,
a change of the schema adds the next version.

Law: expand, then contract. A version only adds, and every released program works with it; it is applied while
processes run. What nothing uses any more is removed one version later at the earliest. A version that removes
says so by a line `-- requires 0004`: programs that know schema 0004, or a later one, work with it. It is
applied only when no older process is connected, and from then on older programs are refused.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import asyncpg

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.queries import queries

if TYPE_CHECKING:
    from drumbeat.engine.store.database import Connection

SCHEMA_LOCK = (
    0x44524D42  # "DRMB": the class of the advisory locks by which programs say what schema they know
)
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


@dataclass(frozen=True, slots=True)
class Migration:
    """A version: `0001_first` has number 1 and name "first". `sql` is the text of all of its files."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def requires(self) -> int:
        """Return the least schema that a program must know to work with it; 1: every program does."""
        match = re.search(r"^-- requires (\d{4})$", self.sql, re.MULTILINE)
        return int(match[1]) if match else 1


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


def pending_migrations(applied: dict[int, str]) -> list[Migration]:
    """Return our versions that are not in `applied` (number → checksum). ConfigurationError if they
    disagree.
    """
    ours = {migration.number: migration for migration in migrations()}
    for number in sorted(applied.keys() & ours.keys()):
        if applied[number] != ours[number].checksum:
            raise ConfigurationError(
                f"an unreleased version of Drumbeat made this database: its schema {number:04} is not "
                "the one that this version ships, and cannot be upgraded",
                remedy=NEW_DATABASE,
            )
    return [migration for number, migration in sorted(ours.items()) if number not in applied]


async def pending_versions(connection: Connection, applied: dict[int, str]) -> list[Migration]:
    """Return our versions that the database lacks. Raise ConfigurationError if it has others, or is newer and
    needs a newer program.
    """
    pending = pending_migrations(applied)
    if applied and max(applied) > _known():
        await _require_known(connection)
    return pending


async def announce(connection: Connection) -> None:
    """Note, for as long as the connection lasts, the schema that its program knows. Raise ConfigurationError
    if the database needs a newer program.

    A migration that removes something waits for those who announce an older schema.
    """
    await connection.execute(queries("migrate")["announce"], SCHEMA_LOCK, _known())
    # There is no table yet, or it is not ours, or the role may not read it: what comes next says so.
    with suppress(
        asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.InsufficientPrivilegeError
    ):
        await _require_known(connection)


async def _require_known(connection: Connection) -> None:
    required = await connection.fetchval(queries("migrate")["required"])
    if required > _known():
        raise ConfigurationError(
            f"the database needs a version of Drumbeat that knows schema {required:04}; this one knows "
            f"{_known():04}",
            remedy="upgrade Drumbeat",
        )


def _known() -> int:
    return migrations()[-1].number
