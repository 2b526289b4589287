"""What the console costs: few rows however large a campaign is, and one refresh however many look."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from benchmarks.viewing.places import View, views
from benchmarks.viewing.seed import Planted, fill
from campaigns.console import streams
from campaigns.console.live import PERIOD_S, SharedReadings
from benchmarks.viewing.upload import upload
from campaigns.console.people import add_token, sign_in, store_user
from campaigns.console.roles import Role
from engine.store.database import Connection, Pool, open_pool
from engine.store.queries import queries
from tests.console.conftest import Caller, console

NUMBERS = [str(number) for number in range(1000, 1016)]
RECIPIENTS = 40_000
# A page reads some ranges of 250 recipients; the campaign has 40,000 recipients and 20,000 outcomes.
ROWS_MAX = 6_000
SPREAD = {"row", "phone", "after"}
PASSWORD = "a long enough password"
WATCHERS = 12

ROWS_READ = """
SELECT sum(coalesce(seq_tup_read, 0) + greatest(coalesce(idx_tup_fetch, 0), entries))::bigint
FROM pg_stat_user_tables AS tables,
     LATERAL (SELECT coalesce(sum(idx_tup_read), 0) AS entries FROM pg_stat_user_indexes AS indexes
              WHERE indexes.relid = tables.relid) AS of_indexes
WHERE relname ~ '^(recipients|outcomes|pending_attempts|claims|incoming_messages)'
"""


@pytest.fixture
async def large(database_url: str) -> Planted:
    return (await fill(database_url, NUMBERS, RECIPIENTS))[0]


async def rows_read(pool: Pool) -> int:
    """By all sessions of the pool, in the tables that grow with recipients."""
    sessions = [await pool.acquire() for _ in range(pool.get_max_size())]
    try:
        for session in sessions:
            await session.execute("SELECT pg_stat_force_next_flush()")
        await sessions[0].execute("SELECT pg_stat_clear_snapshot()")
        read: int = await sessions[0].fetchval(ROWS_READ)
        return read
    finally:
        for session in sessions:
            await pool.release(session)


async def test_no_view_reads_a_large_campaign(database_url: str, large: Planted, tmp_path: Path) -> None:
    async with open_pool(database_url, size=4) as pool, console(pool, database_url, tmp_path) as url:
        caller, read = Caller(url, await add_token(pool, "all", Role.MANAGE, actor="test")), {}
        async with aiohttp.ClientSession(headers=caller.headers) as session:
            examples = large.examples(await upload(session, url))
        for view in views(examples):
            before = await rows_read(pool)
            reply = await caller.get(view.address)
            assert reply.status in {200, 303}, (view.address, reply.text)
            read[view.route] = await rows_read(pool) - before
    assert {route: rows for route, rows in read.items() if rows > ROWS_MAX} == {}
