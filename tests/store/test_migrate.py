"""Migrations: applied once each, in order, whoever comes at the same time, and only to what they fit."""

import asyncio

import pytest

from engine.errors import ConfigurationError
from engine.store import migrate as migrating
from engine.store.database import connect
from engine.store.migrate import Migration, is_current, migrate, migrations, pending_migrations


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


async def test_an_installation_keeps_its_name(empty_database_url: str) -> None:
    await migrate(empty_database_url)
    connection = await connect(empty_database_url)
    try:
        first = await connection.fetchval("SELECT installation FROM installation")
        await migrate(empty_database_url)
        assert await connection.fetchval("SELECT installation FROM installation") == first
    finally:
        await connection.close()


async def test_a_migration_that_fails_leaves_nothing(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (Migration(1, "first", "CREATE TABLE first ()"), Migration(2, "second", "SELECT 1 / 0"))
    monkeypatch.setattr(migrating, "migrations", lambda: broken)

    with pytest.raises(Exception, match="division by zero"):
        await migrate(empty_database_url)

    connection = await connect(empty_database_url)
    try:
        assert await connection.fetchval("SELECT to_regclass('first')") is None
        assert await connection.fetchval("SELECT to_regclass('schema_migrations')") is None
    finally:
        await connection.close()


def test_a_database_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="upgrade Drumbeat"):
        pending_migrations({9999: "any"})


def test_a_migration_changed_after_its_release_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="0001"):
        pending_migrations({1: "another checksum"})


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
                "INSERT INTO tallies (range_id, campaign_id, recipients) "
                "SELECT first_range_id('2026-02-01') - 1, 1, 1 RETURNING tableoid::regclass::text"
            )
            == "tallies_2026_01"
        )
    finally:
        await connection.close()
