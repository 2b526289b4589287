"""The results writer: bounded, repeats until stored, loses and doubles nothing, isolates a bad fact."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from drumbeat.engine.core.outcome import Accepted, Scope, Throttled
from drumbeat.engine.sending import results_writer as module
from drumbeat.engine.sending.results_writer import BATCH_MAX, HIGH_MARK, MANY, ResultsWriter
from drumbeat.engine.sending.timing import Timing
from drumbeat.engine.store.database import Pool, connect
from drumbeat.engine.store.facts import Fact, FactKind
from tests.sending.planted import (
    SLOW,
    Planted,
    assert_range_counters_hold,
    counts,
    plant_campaign,
    plant_numbers,
)
from tests.sending.running import until

PERIOD_S = Timing().batch_period_s
NEVER_S = 3_600.0  # no batch that is not large is stored in the time of a test
AT_US = 1_790_000_000_000_000  # some moment of 2026


def fact(campaign: Planted, index: int, kind: FactKind = FactKind.ACCEPTED, **others: Any) -> Fact:
    """A fact of recipient `index` (from 0) of a campaign with one range."""
    told: dict[str, Any] = {"wamid": f"w{index}", "attempted_us": time.time_ns() // 1_000, **others}
    return Fact(campaign.campaign_id, campaign.range_ids[0], index + 1, 1, 1, SLOW, kind, **told)


@asynccontextmanager
async def storing(pool: Pool, period_s: float = PERIOD_S) -> AsyncIterator[ResultsWriter]:
    results_writer = ResultsWriter(pool, period_s)
    running = asyncio.create_task(results_writer.run())
    try:
        yield results_writer
    finally:
        while not running.done():
            running.cancel()
            await asyncio.wait([running], timeout=0.5)


async def planted(pool: Pool, recipients: int = 50) -> Planted:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80})
        campaign = await plant_campaign(connection, recipients=recipients, range_size=5_000)
        await connection.execute(
            "UPDATE ranges SET claimed_through = last_seq, phone_number_id = $1, epoch = 1", SLOW
        )
        return campaign


async def flush(results_writer: ResultsWriter) -> None:
    await asyncio.wait_for(results_writer.flushed(), 30)


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """While it is set, every batch fails as if the database were lost."""
    real, cut = module.record, asyncio.Event()

    async def record(*arguments: Any) -> None:
        if cut.is_set():
            raise ConnectionResetError("cut by the test")
        await real(*arguments)

    monkeypatch.setattr(module, "record", record)
    return cut


async def test_facts_are_stored_in_batches_and_flushed_returns_when_all_are(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, sizes = module.record, []

    async def record(connection: Any, facts: list[Fact], attempts: Any) -> None:
        sizes.append(len(facts))
        await real(connection, facts, attempts)

    monkeypatch.setattr(module, "record", record)
    campaign = await planted(pool, 2_500)
    async with storing(pool, NEVER_S) as results_writer:
        for index in range(2_500):
            results_writer.put(fact(campaign, index))
        assert results_writer.pending == 2_500
        await flush(results_writer)
        assert results_writer.pending == 0 and not results_writer.full
    assert sum(sizes) == 2_500 and max(sizes) == BATCH_MAX and len(sizes) < 10
    async with pool.acquire() as connection:
        assert await counts(connection, campaign.campaign_id) == {"accepted": 2_500}


async def test_the_few_that_arrive_while_a_batch_is_stored_wait_for_others(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    async def record(connection: Any, facts: list[Fact], attempts: Any) -> None:
        sizes.append(len(facts))
        if len(sizes) == 1:
            for index in range(MANY, MANY + 3):
                results_writer.put(fact(campaign, index))

    monkeypatch.setattr(module, "record", record)
    campaign = await planted(pool, 1)
    async with storing(pool, NEVER_S) as results_writer:
        for index in range(MANY):
            results_writer.put(fact(campaign, index))
        await until(lambda: results_writer.pending == 3)
        for index in range(MANY):
            results_writer.put(fact(campaign, index))
        await until(lambda: not results_writer.pending)
    assert sizes == [MANY, MANY + 3]


async def test_above_the_high_mark_nobody_may_claim(pool: Pool) -> None:
    campaign = await planted(pool, HIGH_MARK)
    results_writer = ResultsWriter(pool, PERIOD_S)
    for index in range(HIGH_MARK - 1):
        results_writer.put(fact(campaign, index))
    assert not results_writer.full
    results_writer.put(fact(campaign, HIGH_MARK - 1))
    assert results_writer.full
    running = asyncio.create_task(results_writer.run())
    await flush(results_writer)
    assert not results_writer.full
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_cut_database_stops_claims_until_everything_is_stored(pool: Pool, cut: asyncio.Event) -> None:
    campaign = await planted(pool)
    async with storing(pool) as results_writer:
        results_writer.put(fact(campaign, 0))
        await flush(results_writer)
        cut.set()
        for index in range(1, 25):
            results_writer.put(fact(campaign, index))
        await until(lambda: bool(results_writer.problem))
        assert (
            results_writer.full
            and results_writer.pending == 24
            and "cut by the test" in results_writer.problem
        )
        for index in range(25, 50):
            results_writer.put(fact(campaign, index))
        cut.clear()
        await flush(results_writer)
        assert not results_writer.problem and not results_writer.full
    async with pool.acquire() as connection:
        assert await counts(connection, campaign.campaign_id) == {"accepted": 50}
        await assert_range_counters_hold(connection)


async def test_relief_comes_with_the_database_not_before(pool: Pool, cut: asyncio.Event) -> None:
    """Otherwise a claim loop that waits for relief would spin as long as the database is away."""
    campaign = await planted(pool)
    async with storing(pool) as results_writer:
        results_writer.put(fact(campaign, 0))
        await flush(results_writer)
        cut.set()
        results_writer.put(fact(campaign, 1))
        await until(lambda: bool(results_writer.problem))
        waiting = asyncio.create_task(results_writer.relief(60))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        cut.clear()
        await asyncio.wait_for(waiting, 30)
        assert not results_writer.full


async def test_a_wait_for_the_low_mark_ends_there(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a number would ask again and again, and keep the event loop from storing."""
    batches = asyncio.Semaphore(0)

    async def record(*_: Any) -> None:
        await batches.acquire()

    monkeypatch.setattr(module, "record", record)
    monkeypatch.setattr(module, "HIGH_MARK", 4)
    monkeypatch.setattr(module, "BATCH_MAX", 2)
    campaign = await planted(pool, 10)
    async with storing(pool) as results_writer:
        batches.release()
        results_writer.put(fact(campaign, 0))
        await flush(results_writer)
        for index in range(1, 8):
            results_writer.put(fact(campaign, index))
        waiting = asyncio.create_task(results_writer.relief(60))
        batches.release()
        await until(lambda: results_writer.pending == 5)
        for _ in range(20):
            await asyncio.sleep(0)
        assert results_writer.full and not waiting.done()
        batches.release()
        await asyncio.wait_for(waiting, 30)
        assert results_writer.pending == 3 and not results_writer.full
        batches.release()
        batches.release()
        await flush(results_writer)


async def test_a_results_writer_that_ends_releases_its_connection(pool: Pool) -> None:
    """Otherwise the pool would wait for it when it closes, and a drain would take too long."""
    campaign = await planted(pool)
    async with storing(pool) as results_writer:
        results_writer.put(fact(campaign, 0))
        await flush(results_writer)
        assert pool.get_idle_size() == pool.get_size() - 1
    assert pool.get_idle_size() == pool.get_size()


async def test_connections_cut_by_the_server_lose_and_double_nothing(pool: Pool, database_url: str) -> None:
    campaign = await planted(pool, 3_000)
    elsewhere = await connect(database_url)
    async with storing(pool) as results_writer:
        for begin in range(0, 3_000, 300):
            for index in range(begin, begin + 300):
                results_writer.put(fact(campaign, index))
            await elsewhere.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await flush(results_writer)
    assert await counts(elsewhere, campaign.campaign_id) == {"accepted": 3_000}
    await assert_range_counters_hold(elsewhere)
    await elsewhere.close()


@pytest.mark.parametrize(
    "bad",
    [
        {"wamid": "w\x00"},
        {"code": 2**40},
        {"wamid": "\ud800"},
        {"attempted_us": 2**63},
    ],
    ids=["a NUL", "a code beyond int4", "half a character", "a time beyond int8"],
)
async def test_a_fact_that_the_database_refuses_is_stored_alone_as_in_doubt(
    pool: Pool, bad: dict[str, Any]
) -> None:
    campaign = await planted(pool)
    async with storing(pool) as results_writer:
        for index in range(50):
            results_writer.put(fact(campaign, index, **(bad if index == 17 else {})))
        await flush(results_writer)
        assert not results_writer.problem
    async with pool.acquire() as connection:
        assert await counts(connection, campaign.campaign_id) == {"accepted": 49, "unknown": 1}
        row = await connection.fetchrow("SELECT seq, attempt_no, epoch, state FROM pending_attempts")
        assert row is not None and tuple(row) == (18, 1, 1, "unknown")
        await assert_range_counters_hold(connection)


async def test_a_fact_that_cannot_be_stored_even_as_in_doubt_blocks_no_other(pool: Pool) -> None:
    campaign = await planted(pool)
    async with storing(pool) as results_writer:
        for index in range(10):
            told = fact(campaign, index)
            results_writer.put(told._replace(seq=2**40) if index == 3 else told)
        await flush(results_writer)
        assert not results_writer.problem
    async with pool.acquire() as connection:
        assert await counts(connection, campaign.campaign_id) == {"accepted": 9, "pending": 41}
        await assert_range_counters_hold(connection)


async def test_counts_that_cannot_be_stored_put_nobody_in_doubt(pool: Pool) -> None:
    """An accepted recipient in doubt may get a second message. Here the campaign no longer exists."""
    campaign = await planted(pool)
    await pool.execute("DELETE FROM campaigns")
    async with storing(pool) as results_writer:
        results_writer.put(fact(campaign, 0))
        await flush(results_writer)
        assert not results_writer.problem
    async with pool.acquire() as connection:
        assert await counts(connection, campaign.campaign_id) == {"accepted": 1, "pending": 49}


async def test_what_a_number_did_is_counted_also_beside_a_bad_fact(pool: Pool) -> None:
    campaign = await planted(pool)
    async with storing(pool) as results_writer:
        results_writer.attempt_statistics.limits_per_s[SLOW] = 80.0
        outcomes = [Accepted("w0"), Accepted("w\x00"), Throttled(Scope.NUMBER, 130429, None, "")]
        for index, outcome in enumerate(outcomes):
            kind = FactKind.ACCEPTED if isinstance(outcome, Accepted) else FactKind.DEFERRED
            told = {"wamid": getattr(outcome, "wamid", None), "throttled": isinstance(outcome, Throttled)}
            results_writer.put(
                fact(campaign, index, kind, reason="x", attempted_us=AT_US + 500_000 * index, **told)
            )
        results_writer.put(
            fact(campaign, 3, FactKind.DEFERRED, wamid=None, reason="not sent", attempted_us=None)
        )
        await flush(results_writer)
    async with pool.acquire() as connection:
        row = await connection.fetchrow(
            "SELECT attempts, accepted, throttled, active_s, limit_per_s FROM campaign_numbers"
        )
    assert row is not None and tuple(row) == (3, 2, 1, 1.0, 80.0)


@pytest.mark.parametrize("apart", [False, True])
async def test_a_pause_between_attempts_is_not_time_spent_sending(pool: Pool, apart: bool) -> None:
    campaign = await planted(pool)
    async with storing(pool) as results_writer:
        for index, at_s in enumerate((10, 11, 500)):
            results_writer.put(fact(campaign, index, attempted_us=AT_US + at_s * 1_000_000))
            if apart:
                await flush(results_writer)
        await flush(results_writer)
    async with pool.acquire() as connection:
        assert await connection.fetchval("SELECT active_s FROM campaign_numbers") == 2.0
