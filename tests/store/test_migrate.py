"""Migrations: each is applied once, in order, also by processes at the same time, and only to a database that fits."""

import asyncio
import re
import secrets
import socket
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from drumbeat.engine import prepare_database
from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.prepare_database import await_schema
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store import migrate as migrating
from drumbeat.engine.store import schema_version
from drumbeat.engine.store.database import Connection, connect, open_pool
from drumbeat.engine.store.installation import identify
from drumbeat.engine.store.migrate import is_current, migrate
from drumbeat.engine.store.schema_version import Migration, migrations, pending_migrations
from drumbeat.testing.databases import with_database


async def test_a_second_run_applies_nothing(empty_database_url: str) -> None:
    assert await migrate(empty_database_url) == list(migrations())
    assert await migrate(empty_database_url) == []


async def test_several_at_once_apply_each_migration_once(empty_database_url: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_database_url) for _ in range(4)))

    assert sorted(len(each) for each in applied) == [0, 0, 0, len(migrations())]


async def test_currency_is_seen_before_and_after(empty_database_url: str) -> None:
    connection = await connect(empty_database_url)
    try:
        assert not await is_current(connection)
        await migrate(empty_database_url)
        assert await is_current(connection)
    finally:
        await connection.close()


async def test_a_server_that_leaves_once_it_has_answered_fails_nothing(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(connection: Connection) -> bool:
        line = connection._transport.get_extra_info("socket")
        line.shutdown(socket.SHUT_WR)  # the client's goodbye cannot be written
        return True

    monkeypatch.setattr(prepare_database, "is_current", answer)
    await prepare_database._migrate_when_needed(database_url)


async def test_an_installation_keeps_its_name(empty_database_url: str) -> None:
    await migrate(empty_database_url)
    connection = await connect(empty_database_url)
    try:
        first = await connection.fetchval("SELECT installation FROM installation")
        await migrate(empty_database_url)
        assert await connection.fetchval("SELECT installation FROM installation") == first
    finally:
        await connection.close()


async def test_a_version_that_fails_leaves_nothing_of_itself(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (
        Migration(1, "first", "CREATE TABLE first ()"),
        Migration(2, "second", "CREATE TABLE half (); SELECT 1 / 0"),
    )
    monkeypatch.setattr(schema_version, "migrations", lambda: broken)

    with pytest.raises(Exception, match="division by zero"):
        await migrate(empty_database_url)

    connection = await connect(empty_database_url)
    try:
        assert [row["number"] for row in await connection.fetch("SELECT number FROM schema_migrations")] == [
            1
        ]
        assert await connection.fetchval("SELECT to_regclass('half')") is None
    finally:
        await connection.close()


def test_a_version_that_changed_after_its_release_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="0001"):
        pending_migrations({1: "another checksum"})


def test_a_database_of_an_unreleased_version_is_refused_with_the_way_to_a_new_one() -> None:
    """It has more versions than the first release, so that it also looks newer."""
    with pytest.raises(ConfigurationError, match=r"unreleased.*createdb.*drumbeat db migrate") as refused:
        pending_migrations(dict.fromkeys(range(1, 23), "another checksum"))
    assert refused.value.exit_code == 78


def test_the_checksum_of_a_version_covers_all_of_its_files() -> None:
    first, *_ = migrations()
    files = sorted(Path(migrating.__file__).parent.glob(f"sql/schema/{first.number:04}_*/*.sql"))
    assert len(files) > 1
    parts = [file.read_text("utf-8") for file in files]
    assert [first.sql.index(part) for part in parts] == sorted(first.sql.index(part) for part in parts)


MORE = Migration(2, "more", "ALTER TABLE numbers ADD COLUMN more text")
LESS = Migration(3, "less", "-- requires 0002\nALTER TABLE numbers DROP COLUMN more")


def ship(monkeypatch: pytest.MonkeyPatch, *further: Migration) -> None:
    """From here on, this program ships these versions after the first one."""
    monkeypatch.setattr(schema_version, "migrations", lambda: (FIRST, *further))


FIRST = migrations()[0]


async def test_a_version_that_adds_is_applied_while_former_programs_work(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(monkeypatch)
    async with open_pool(database_url, size=2) as former:
        ship(monkeypatch, MORE)
        assert await migrate(database_url) == [MORE]
        await former.execute("UPDATE numbers SET phone_number_id = phone_number_id")
        ship(monkeypatch)
        assert await migrate(database_url) == [], "the former program works on"
        async with open_pool(database_url, size=1) as again, again.acquire() as connection:
            assert await is_current(connection)


async def test_a_version_that_removes_waits_for_former_programs_and_names_them(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(monkeypatch)
    async with open_pool(database_url, size=2) as former:
        ship(monkeypatch, MORE, LESS)
        with pytest.raises(TryLater, match=rf"{re.escape(this_process().name)} \(schema 0001\)"):
            await migrate(database_url)
        assert await former.fetchval("SELECT max(number) FROM schema_migrations") == 2, "what adds is applied"
    ship(monkeypatch, MORE)
    async with open_pool(database_url, size=2):
        ship(monkeypatch, MORE, LESS)
        assert await migrate(database_url) == [LESS], "those that know 0002 may go on"


async def test_a_former_program_that_starts_during_a_removal_waits_and_is_refused(
    database_url: str, monkeypatch: pytest.MonkeyPatch, other: Connection
) -> None:
    """It announces itself after the migration looked who is there: it must not miss what the migration does."""
    ship(monkeypatch, MORE)
    await migrate(database_url)
    looked, go_on = asyncio.Event(), asyncio.Event()
    known = ContextVar("known", default=LESS.number)  # of the program whose task asks
    apply = migrating._apply

    async def apply_late(*arguments: Any) -> None:
        looked.set()
        await go_on.wait()
        await apply(*arguments)

    async def start_former() -> None:
        known.set(FIRST.number)
        async with open_pool(database_url, size=1):
            pass

    monkeypatch.setattr(migrating, "_apply", apply_late)
    monkeypatch.setattr(schema_version, "_known", known.get)
    ship(monkeypatch, MORE, LESS)
    await other.execute("SELECT pg_advisory_unlock_all()")  # only who connects meanwhile counts
    removal = asyncio.create_task(migrate(database_url))
    await looked.wait()
    former = asyncio.create_task(start_former())
    waiting = (
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'schema_migrations'::regclass::oid"
    )
    while not former.done() and not await other.fetchval(waiting):
        await asyncio.sleep(0.01)
    go_on.set()
    assert await removal == [LESS]
    with pytest.raises(ConfigurationError, match="upgrade Drumbeat"):
        await former


async def test_a_program_that_is_too_old_gets_no_connection(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(monkeypatch, MORE, LESS)
    await migrate(database_url)
    ship(monkeypatch)
    with pytest.raises(ConfigurationError, match=r"knows schema 0002; this one knows 0001.*upgrade Drumbeat"):
        await migrate(database_url)
    with pytest.raises(ConfigurationError, match="upgrade Drumbeat"):
        async with open_pool(database_url, size=1):
            pass


async def test_a_version_that_would_hold_tables_for_long_is_applied_only_alone(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Migration(2, "slow", f"{MORE.sql}; SELECT pg_sleep(0.3)")
    monkeypatch.setattr(migrating, "HOLD_S_MAX", 0.1)
    ship(monkeypatch)
    async with open_pool(database_url, size=1) as former:
        ship(monkeypatch, slow)
        with pytest.raises(TryLater, match=r"schema 0002 takes longer than 0\.1 s.*stop all workers"):
            await migrate(database_url)
        assert await former.fetchval("SELECT count(*) FROM schema_migrations") == 1
        await former.execute("UPDATE numbers SET phone_number_id = phone_number_id")
    assert await migrate(database_url) == [slow]


async def test_a_wait_for_the_schema_ends_when_somebody_else_has_migrated(empty_database_url: str) -> None:
    with pytest.raises(TryLater, match="was not brought to this version yet"):
        await await_schema(empty_database_url, 0)
    waiting = asyncio.create_task(await_schema(empty_database_url, 60))
    await migrate(empty_database_url)
    await waiting


async def test_a_program_whose_user_may_not_migrate_may_try_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch, other: Connection
) -> None:
    """78 would tell a service manager that no restart helps; the owner's migration does."""
    role = f"worker_{secrets.token_hex(4)}"
    await other.execute(f"CREATE ROLE {role} LOGIN; GRANT SELECT ON schema_migrations TO {role}")
    ship(monkeypatch, MORE)
    try:
        with pytest.raises(TryLater, match="run `drumbeat db migrate` as the user who owns"):
            await prepare_database._migrate_when_needed(database_url.replace("://postgres:", f"://{role}:"))
        await migrate(database_url)
        await prepare_database._migrate_when_needed(database_url.replace("://postgres:", f"://{role}:"))
    finally:
        await other.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_a_table_that_stays_locked_is_named_as_the_reason(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(monkeypatch, MORE)
    monkeypatch.setattr(migrating, "LOCK_TRIES", 1)
    holder = await connect(database_url)
    try:
        async with holder.transaction():
            await holder.execute("LOCK TABLE numbers IN ACCESS SHARE MODE")
            with pytest.raises(TryLater, match="a table that the new schema changes stays locked"):
                await migrate(database_url)
        assert await migrate(database_url) == [MORE]
    finally:
        await holder.close()


@pytest.mark.parametrize(
    "table", ["schema_migrations (version text)", "campaigns (id integer)", "numbers (value integer)"]
)
async def test_a_database_of_another_program_is_refused(empty_database_url: str, table: str) -> None:
    connection = await connect(empty_database_url)
    await connection.execute(f"CREATE TABLE {table}")
    await connection.close()
    with pytest.raises(ConfigurationError, match=r"another program.*of its own"):
        await migrate(empty_database_url)


async def test_a_search_path_without_a_schema_is_refused(empty_database_url: str) -> None:
    with pytest.raises(ConfigurationError, match="search_path"):
        await migrate(f"{empty_database_url}&search_path=nowhere")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_cannot_hold_every_name_is_refused(server_url: str, encoding: str) -> None:
    name = f"encoded_{encoding.lower()}_{secrets.token_hex(4)}"
    server = await connect(server_url)
    try:
        await server.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
        with pytest.raises(ConfigurationError, match=f"{encoding}.*UTF8"):
            await migrate(with_database(server_url, name))
    finally:
        await server.execute(f"DROP DATABASE IF EXISTS {name}")
        await server.close()


async def test_everything_works_in_a_schema_of_ones_own(empty_database_url: str) -> None:
    connection = await connect(empty_database_url)
    await connection.execute("CREATE SCHEMA beat")
    await connection.close()
    url = f"{empty_database_url}&search_path=beat"
    assert await migrate(url) == list(migrations())
    connection = await connect(url)
    try:
        await connection.execute("SELECT create_partitions('2026-01-31')")
        assert await connection.fetchval("SELECT to_regclass('beat.outcomes_2026_01') IS NOT NULL")
        assert await identify(connection)
    finally:
        await connection.close()


def test_numbers_are_without_gap_and_in_order() -> None:
    assert [migration.number for migration in migrations()] == list(range(1, len(migrations()) + 1))


async def test_partitions_are_made_once_a_month_and_pruned_by_key(database_url: str) -> None:
    connection = await connect(database_url)
    try:
        for day in ("2026-01-31", "2026-01-01", "2026-02-01"):
            await connection.execute(f"SELECT create_partitions('{day}')")
        names = await connection.fetch(
            "SELECT relid::text FROM pg_partition_tree('recipients') WHERE isleaf ORDER BY 1"
        )
        assert [row[0] for row in names] == ["recipients_2026_01", "recipients_2026_02"]
        assert (
            await connection.fetchval(
                "INSERT INTO range_counters (range_id, campaign_id, recipients) "
                "SELECT first_range_id('2026-02-01') - 1, 1, 1 RETURNING tableoid::regclass::text"
            )
            == "range_counters_2026_01"
        )
    finally:
        await connection.close()
