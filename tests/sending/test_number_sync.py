"""The list of numbers is stored, whatever the service lists, and never ends a worker."""

import asyncio
from dataclasses import replace
from functools import partial

import asyncpg
import pytest
from structlog.testing import capture_logs

from drumbeat.engine import app
from drumbeat.engine.api.endpoints.numbers import NumberRecord
from drumbeat.engine.errors import TryLater
from drumbeat.engine.sending.number_sync import store_numbers
from drumbeat.engine.store.database import Pool
from tests.sending.planted import SLOW, plant_campaign, plant_numbers
from tests.sending.running import (
    HIGH_RATE_PER_S,
    QUICK,
    assert_each_once,
    run_to_end,
    serving,
    started,
    until,
)

AGAIN_AT_ONCE = replace(QUICK, reread_period_s=0.0)


def listed(phone_number_id: str, name: str, level: str = "STANDARD") -> NumberRecord:
    return NumberRecord(phone_number_id, "+55 11 9", name, "GREEN", "TIER_1K", "CONNECTED", level)


async def test_a_number_that_is_listed_twice_is_stored_as_listed_last(pool: Pool) -> None:
    await store_numbers(pool, [listed("1", "old"), listed("2", "other"), listed("1", "new", "HIGH")])
    rows = await pool.fetch(
        "SELECT phone_number_id, verified_name, service_limit_per_s FROM numbers ORDER BY 1"
    )
    assert [tuple(row) for row in rows] == [("1", "new", 1_000.0), ("2", "other", 80.0)]


async def test_a_text_that_no_database_takes_is_stored_without_what_is_wrong_with_it(pool: Pool) -> None:
    await store_numbers(pool, [listed("1\x00", "An\x00a")])
    row = await pool.fetchrow("SELECT phone_number_id, verified_name FROM numbers")
    assert row is not None and tuple(row) == ("1", "Ana")


async def test_an_account_without_numbers_is_no_error(pool: Pool) -> None:
    await store_numbers(pool, [])
    assert await pool.fetchval("SELECT count(*) FROM numbers") == 0


async def test_a_reading_that_fails_in_an_unforeseen_way_ends_no_worker(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = asyncio.Event()

    async def refresh(*_: object) -> None:
        read.set()
        raise asyncpg.CardinalityViolationError(
            "ON CONFLICT DO UPDATE command cannot affect row a second time"
        )

    monkeypatch.setattr(app, "_read_numbers", refresh)
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        campaign = await plant_campaign(connection, recipients=400)
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)
    assert read.is_set()


async def test_no_reading_begins_while_another_runs(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, last = [0], asyncio.Event()

    async def refresh(*_: object) -> None:
        begun[0] += 1
        await last.wait()

    monkeypatch.setattr(app, "_read_numbers", refresh)
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
    async with serving() as emulator, started(pool, emulator, timing=AGAIN_AT_ONCE):
        await until(lambda: begun[0] > 0)
        for _ in range(3):
            leased_until = await pool.fetchval("SELECT leased_until FROM numbers")
            await until(partial(leased_later, pool, leased_until))
        assert begun == [1]
        last.set()
        await until(lambda: begun[0] > 1)


async def test_numbers_are_not_read_again_before_the_service_wants_it(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def refresh(*_: object) -> None:
        asked.append(len(asked))
        raise TryLater("the calls of this hour are spent", wait_s=3600.0)

    monkeypatch.setattr(app, "_read_numbers", refresh)
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
    async with serving() as emulator, started(pool, emulator, timing=AGAIN_AT_ONCE):
        await until(lambda: bool(asked))
        for _ in range(3):
            leased_until = await pool.fetchval("SELECT leased_until FROM numbers")
            await until(partial(leased_later, pool, leased_until))
    assert asked == [0]


async def test_all_readings_share_the_calls_of_the_hour(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interface allows 200 an hour; many events about numbers would need more."""
    monkeypatch.setattr(app, "BURST", 3)

    async def listed_again() -> bool:
        await pool.execute("UPDATE numbers SET synced_at = NULL")
        return any(line["event"] == "numbers_not_read" for line in lines)

    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
    with capture_logs() as lines:
        async with serving() as emulator:
            config = emulator.service.config
            async with started(pool, emulator, timing=AGAIN_AT_ONCE, waba_id=config.waba):
                await until(listed_again)
            budget = emulator.service.accounts[config.waba].budgets[config.app_id]
    assert len(budget.dump()[1]) == 3, "half of them at once"


async def leased_later(pool: Pool, before: object) -> bool:
    return bool(await pool.fetchval("SELECT leased_until > $1 FROM numbers", before))
