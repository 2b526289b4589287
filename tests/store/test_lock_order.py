"""A transaction that writes several rows of a table locks them in key order, whatever the order in the table or the input.

Two who do so wait for each other in a line; else each may hold what the other waits for.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence

import pytest

from drumbeat.campaigns.account.templates import sync_templates
from drumbeat.engine.api.endpoints.templates import TemplateRecord
from drumbeat.engine.sending.number_sync import store_numbers
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.webhooks.account import act
from tests.kit.account_events import store_event
from tests.kit.planted import FIRST_RANGE
from tests.kit.planted import plant_campaign as plant_ranges
from tests.kit.waiting import until_any_waits
from tests.sending.planted import FAST, SLOW, plant_numbers


class Account:
    """Lists its templates with the last name first."""

    async def list(self, waba_id: str) -> AsyncIterator[TemplateRecord]:
        for name in ("b", "a"):
            yield TemplateRecord(name, "en", "APPROVED", "", [], "POSITIONAL", "")


async def assert_in_order(
    pool: Pool, other: Connection, rows: str, keys: tuple[str, str], work: Awaitable[object]
) -> None:
    """A transaction that waits for the first of two rows does not hold the second. `rows`: a table, and its key."""
    lock_row = f"SELECT FROM {rows} = $1 FOR UPDATE"
    async with other.transaction():
        await other.execute(lock_row, keys[0])
        working = asyncio.ensure_future(work)
        await until_any_waits(pool)
        await other.execute(f"{lock_row} NOWAIT", keys[1])
    await working


async def test_numbers_that_the_account_no_longer_lists(
    pool: Pool, connection: Connection, other: Connection
) -> None:
    for number in (FAST, SLOW):  # so they lie in the table
        await plant_numbers(connection, **{number: 80})
    await assert_in_order(pool, other, "numbers WHERE phone_number_id", (SLOW, FAST), store_numbers(pool, []))
    assert await pool.fetchval("SELECT bool_and(unlisted_at IS NOT NULL) FROM numbers")


async def test_templates_that_are_read_again(pool: Pool, other: Connection) -> None:
    await sync_templates(pool, Account(), "1")
    synced = sync_templates(pool, Account(), "1")
    await assert_in_order(pool, other, "templates WHERE name", ("a", "b"), synced)


@pytest.mark.parametrize("displays", [("+55 2", "+55 1"), (None,)], ids=["one by one", "all of them"])
async def test_numbers_that_the_service_lists(
    pool: Pool, connection: Connection, other: Connection, displays: Sequence[str | None]
) -> None:
    """While senders renew their leases."""
    for number in ("2", "1"):  # so they lie in the table
        await connection.execute(
            "INSERT INTO numbers (phone_number_id, display_phone_number, synced_at) VALUES ($1, '+55 ' || $1, now())",
            number,
        )
    for display in displays:
        await store_event(
            connection, "phone_number_quality_update", {"display_phone_number": display, "event": "FLAGGED"}
        )
    numbers = "numbers WHERE phone_number_id"
    await assert_in_order(pool, other, numbers, ("1", "2"), act(connection))
    assert not await pool.fetchval("SELECT count(synced_at) FROM numbers")


async def test_ranges_that_are_closed(pool: Pool, connection: Connection, other: Connection) -> None:
    campaign = await plant_ranges(connection, ranges=2, state="cancelled")
    await connection.execute("UPDATE ranges SET ordinal = 2 WHERE range_id = $1", FIRST_RANGE)  # lies behind
    closing = close_ranges(connection, campaign, "cancelled")
    await assert_in_order(pool, other, "ranges WHERE range_id", (FIRST_RANGE, FIRST_RANGE + 1), closing)
