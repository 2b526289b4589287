"""A create that ends half-way, by a kill or a full disk, leaves nothing that is sent, and is planned anew."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.counts import PlanCounts
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.frozen import chunks
from drumbeat.campaigns.planning.frozen import step as freezing
from drumbeat.campaigns.planning.opened import disk_limit
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import TryLater
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import (
    assert_range_counters_equal_a_recount,
    create_and_be_killed,
    everything,
    recipients,
)


async def test_a_create_killed_half_way_is_planned_anew(
    ready: str,
    pool: Pool,
    spec: CampaignSpec,
    write_audience: WriteAudience,
    small_ranges: None,
) -> None:
    rows = [f"{PHONE + row},Name,A{row}" for row in range(300)]
    spec = replace(spec, audience=write_audience("phone,name,order\n" + "\n".join(rows)))

    await create_and_be_killed(ready, spec, written=100)
    left = await everything(pool)
    assert left["campaigns"] == 1
    assert 100 <= left["recipients"] < 300
    assert await pool.fetchval("SELECT planned_at FROM campaigns") is None

    created = await create_campaign(ready, spec)

    assert not created.unchanged
    now = await everything(pool)
    assert (now["campaigns"], now["recipients"]) == (1, 300)
    assert (
        now["ranges"] == now["range_counters"] == await pool.fetchval("SELECT max(ordinal) + 1 FROM ranges")
    )
    await assert_range_counters_equal_a_recount(pool)


async def test_a_full_disk_ends_the_planning_and_free_space_lets_it_continue(
    ready: str,
    pool: Pool,
    spec: CampaignSpec,
    write_audience: WriteAudience,
    small_ranges: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write_audience("phone,name,order\n" + "".join(f"{PHONE + row},N{row},A\n" for row in range(400)))
    large, disk = replace(spec, audience=path), Disk(path.parent, least_free_mib=100)
    free, seen = [10**12], []

    def fill(progress: PlanProgress) -> None:
        seen.append(progress.stage)
        if progress.stage == full_at:
            free[0] = 0

    monkeypatch.setattr(disk_limit, "CHECK_PERIOD_NS", 0)
    monkeypatch.setattr("drumbeat.engine.process.disk_space.free_bytes", lambda _: free[0])
    for full_at in ("reading", "checking", "freezing"):
        free[0] = 10**12
        seen.clear()
        with pytest.raises(TryLater, match="planning needs at least 200 MiB") as refused:
            await create_campaign(ready, large, fill, disk=disk)
        assert "free some space" in refused.value.remedy
        assert (seen.count(full_at), seen[-1]) == (1, full_at), "it went on with a full disk"
        assert await pool.fetchval("SELECT count(*) FROM campaigns WHERE planned_at IS NOT NULL") == 0
    free[0] = 10**12
    created = await create_campaign(ready, large, disk=disk)
    assert created.counts == PlanCounts(
        audience_rows=400, recipients=400, rejected=0, duplicates=0, suppressed=0
    )
    assert sorted(row["phone"] for row in await recipients(pool)) == [PHONE + row for row in range(400)]
    await assert_range_counters_equal_a_recount(pool)


async def test_rows_that_the_database_refuses_end_the_create_at_once(
    ready: str,
    pool: Pool,
    spec: CampaignSpec,
    write_audience: WriteAudience,
    small_ranges: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also for the writer that is cancelled when the server has refused its rows, and it has more of them."""
    path = write_audience("phone,name,order\n" + "".join(f"{PHONE + row},N{row},A\n" for row in range(100)))
    begun: list[int] = []

    async def refused(*_: object) -> AsyncGenerator[bytes, None]:
        begun.append(place := len(begun))
        yield b"no recipient\n"
        await (asyncio.Event().wait() if place else _until_refused(pool))

    monkeypatch.setattr(chunks._Writing, "_copy_text", refused)
    async with asyncio.timeout(60):
        with pytest.raises(asyncpg.DataError):
            await create_campaign(ready, replace(spec, audience=path))
    assert begun == [0, 1]
    assert await recipients(pool) == []


async def _until_refused(pool: Pool) -> None:
    """Wait until the server has refused the rows of both writers."""
    refused = 0
    while refused < 2:
        refused = await pool.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND state = 'idle in transaction (aborted)'"
        )


async def test_leftovers_of_another_file_under_that_name_go_as_well(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    await create_and_be_killed(ready, spec)
    other = write_audience(f"phone,name,order\n{PHONE + 99},Ana,1\n", name="other.csv")

    await create_campaign(ready, replace(spec, audience=other))

    assert [row["phone"] for row in await recipients(pool)] == [PHONE + 99]


@pytest.mark.parametrize("ranges", [0, 1, 101])
async def test_leftovers_of_any_size_go(ready: str, pool: Pool, spec: CampaignSpec, ranges: int) -> None:
    """Of a create that was killed before its first chunk, too."""
    await create_and_be_killed(ready, spec)
    for table in ("recipients", "range_counters", "ranges"):
        await pool.execute(f"DELETE FROM {table}")
    await pool.execute(
        "INSERT INTO ranges (range_id, campaign_id, ordinal, last_seq)"
        " SELECT first_range_id((created_at AT TIME ZONE 'UTC')::date) + n, campaign_id, n, 1"
        " FROM campaigns, generate_series(1, $1) AS n",
        ranges,
    )
    async with asyncio.timeout(60):
        await create_campaign(ready, spec)
    assert await everything(pool) == {"campaigns": 1, "ranges": 2, "recipients": 10, "range_counters": 2}


async def test_leftovers_wait_for_a_chunk_that_outlives_its_process(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    await create_and_be_killed(ready, spec)
    before = await everything(pool)
    async with pool.acquire() as writer, writer.transaction():
        campaign_id = await pool.fetchval("SELECT campaign_id FROM campaigns")
        held = await writer.fetchval(statements("plan")["hold_unplanned"], campaign_id)
        assert held is not None
        with pytest.raises(TryLater, match="another process is creating"):
            await create_campaign(ready, spec)
        assert await everything(pool) == before

    await create_campaign(ready, spec)

    assert len(await recipients(pool)) == 10


async def test_a_chunk_is_written_whole_or_not_at_all(
    ready: str, pool: Pool, spec: CampaignSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No campaign would own recipients without a range, and no later create would find them."""
    broken = {
        **statements("plan"),
        "freeze_ranges": "SELECT $1::bigint / 0, $2::bigint[], $3::integer, $4::text[]",
    }
    with monkeypatch.context() as patch, pytest.raises(asyncpg.DivisionByZeroError):
        patch.setattr(chunks, "statements", lambda _: broken)
        await create_campaign(ready, spec)
    assert await everything(pool) == {"campaigns": 1, "ranges": 0, "recipients": 0, "range_counters": 0}
    await create_campaign(ready, spec)
    assert len(await recipients(pool)) == 10


async def test_a_chunk_of_a_removed_campaign_is_not_written(
    ready: str, pool: Pool, spec: CampaignSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = chunks.write_chunks

    async def write_after_removal(*arguments: Any) -> tuple[int, int]:
        await pool.execute("DELETE FROM campaigns")
        return await original(*arguments)

    monkeypatch.setattr(freezing, "write_chunks", write_after_removal)
    with pytest.raises(RuntimeError, match="was removed while it was planned"):
        await create_campaign(ready, spec)
    assert set((await everything(pool)).values()) == {0}
