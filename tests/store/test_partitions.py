"""Partitions are created while senders run, and match their parents."""

import asyncio

import pytest

from drumbeat.engine.store.database import Pool

PARENTS = ("ranges", "range_counters", "claims", "recipients", "outcomes", "pending_attempts")
SHAPE = """
SELECT (SELECT array_agg((attname, atttypid, attnotnull, attstorage) ORDER BY attnum)::text
        FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped) AS columns,
       (SELECT array_agg(pg_get_expr(adbin, adrelid) ORDER BY adnum)::text
        FROM pg_attrdef WHERE adrelid = $1::regclass) AS defaults,
       (SELECT array_agg(pg_get_constraintdef(oid) ORDER BY pg_get_constraintdef(oid))::text
        FROM pg_constraint WHERE conrelid = $1::regclass AND contype IN ('c', 'p', 'u')) AS constraints,
       (SELECT count(*) FROM pg_index WHERE indrelid = $1::regclass) AS indexes
"""


async def test_a_month_is_made_while_senders_hold_what_they_lock(pool: Pool) -> None:
    """The first create of a month must not wait for senders, nor they for it."""
    async with pool.acquire() as sender, pool.acquire() as creator, sender.transaction():
        for parent in PARENTS:
            await sender.execute(f"LOCK TABLE {parent} IN ROW EXCLUSIVE MODE")
        async with creator.transaction():
            await asyncio.wait_for(creator.execute("SELECT create_partitions('2031-05-15')"), 10)
            for parent in reversed(PARENTS):  # and while it has not committed yet
                await asyncio.wait_for(sender.execute(f"DELETE FROM {parent}"), 10)


@pytest.mark.parametrize("parent", PARENTS)
async def test_a_partition_has_all_that_its_parent_has(pool: Pool, parent: str) -> None:
    await pool.execute("SELECT create_partitions('2031-05-15'), create_partitions('2031-05-16')")
    assert await pool.fetchrow(SHAPE, f"{parent}_2031_05") == await pool.fetchrow(SHAPE, parent)
    bound = await pool.fetchval(
        "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = $1::regclass", f"{parent}_2031_05"
    )
    first, after = [
        await pool.fetchval("SELECT first_range_id($1::text::date)", day)
        for day in ("2031-05-01", "2031-06-01")
    ]
    assert bound == f"FOR VALUES FROM ('{first}') TO ('{after}')"
