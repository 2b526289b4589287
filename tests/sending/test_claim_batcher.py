"""A number that asks while a statement runs is in the next one; all in a statement share its result."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import pytest

from drumbeat.engine.clock import suspend_aware_ns
from drumbeat.engine.sending import claim_batcher as claim_batcher
from drumbeat.engine.sending.claim_batcher import ClaimBatcher
from drumbeat.engine.store.claims import WatermarkAdvance, advance_watermarks
from drumbeat.engine.store.database import LOST_CONNECTION, Connection, Pool
from drumbeat.engine.store.ranges import HeldRange
from tests.sending.planted import take_one_each, up_to
from tests.sending.running import until

NUMBERS = [f"70{index}" for index in range(5)]


async def planted(pool: Pool) -> list[WatermarkAdvance]:
    """For each number, a claim of the first four recipients of its range."""
    async with pool.acquire() as connection:
        owners = await take_one_each(connection, NUMBERS)
        return [await up_to(connection, lease, held, 4) for lease, held in owners]


class Statements:
    """Counts the claims of each statement, and delays the answer until `open` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.asked_ns: list[int] = []
        self.open = asyncio.Event()
        self.open.set()
        monkeypatch.setattr(claim_batcher, "advance_within_caps", self)

    async def __call__(
        self, connection: Connection, raises: Sequence[WatermarkAdvance]
    ) -> set[tuple[int, int]]:
        self.asked_ns.append(suspend_aware_ns())
        self.sizes.append(len(raises))
        raised = await advance_watermarks(connection, raises)
        await self.open.wait()
        return raised


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Statements:
    return Statements(monkeypatch)


@asynccontextmanager
async def raising(pool: Pool) -> AsyncIterator[ClaimBatcher]:
    batcher = ClaimBatcher(pool)
    run = asyncio.create_task(batcher.run())
    try:
        yield batcher
    finally:
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run
        assert pool.get_idle_size() == pool.get_size(), "its connection is released"


async def asked(batcher: ClaimBatcher, wanted: Sequence[WatermarkAdvance]) -> list[asyncio.Task[int | None]]:
    tasks = [asyncio.create_task(batcher.advance_watermark(each)) for each in wanted]
    await asyncio.sleep(0)
    return tasks


async def test_who_asks_during_a_statement_goes_with_the_next(pool: Pool, statements: Statements) -> None:
    wanted = await planted(pool)
    statements.open.clear()
    begun_ns = suspend_aware_ns()
    async with raising(pool) as batcher:
        first = await asked(batcher, wanted[:1])
        await until(lambda: bool(statements.sizes))
        others = await asked(batcher, wanted[1:])
        statements.open.set()
        issued = await asyncio.gather(*first, *others)
    assert statements.sizes == [1, 4]
    assert begun_ns <= issued[0] <= statements.asked_ns[0], "a claim ages from before its statement"
    assert statements.asked_ns[0] < issued[1] <= statements.asked_ns[1]
    assert set(issued[1:]) == {issued[1]}
    async with pool.acquire() as connection:
        assert await connection.fetchval("SELECT sum(claimed_through) FROM ranges") == 20


async def test_a_refusal_reaches_only_the_claim_that_it_concerns(pool: Pool, statements: Statements) -> None:
    wanted = await planted(pool)
    held = wanted[2].held
    wanted[2] = wanted[2]._replace(held=HeldRange(held.range_id, held.campaign_id, held.last_seq, 1, "open"))
    async with raising(pool) as batcher:
        results = await asyncio.gather(*await asked(batcher, wanted))
    assert [each is None for each in results] == [False, False, True, False, False]


async def test_a_broken_connection_fails_all_waiting_claims_and_the_next_gets_another(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = await planted(pool)

    async def cut(connection: Connection, raises: Sequence[WatermarkAdvance]) -> set[tuple[int, int]]:
        await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        raise AssertionError("the connection is gone")

    async with raising(pool) as batcher:
        monkeypatch.setattr(claim_batcher, "advance_within_caps", cut)
        results = await asyncio.gather(*await asked(batcher, wanted[:3]), return_exceptions=True)
        assert all(isinstance(each, LOST_CONNECTION) for each in results), results
        monkeypatch.setattr(claim_batcher, "advance_within_caps", advance_watermarks)
        assert all(await asyncio.gather(*await asked(batcher, wanted)))


async def test_who_no_longer_waits_holds_up_nobody(pool: Pool, statements: Statements) -> None:
    wanted = await planted(pool)
    statements.open.clear()
    async with raising(pool) as batcher:
        tasks = await asked(batcher, wanted)
        await until(lambda: bool(statements.sizes))
        tasks[0].cancel()
        await asyncio.sleep(0)
        statements.open.set()
        assert all(await asyncio.gather(*tasks[1:]))


async def test_nothing_is_claimed_for_whoever_was_cancelled_before_the_statement(
    pool: Pool, statements: Statements
) -> None:
    wanted = await planted(pool)
    statements.open.clear()
    async with raising(pool) as batcher:
        first = await asked(batcher, wanted[:1])
        await until(lambda: bool(statements.sizes))
        gone, *others = await asked(batcher, wanted[1:])
        gone.cancel()
        await asyncio.sleep(0)
        statements.open.set()
        assert all(await asyncio.gather(*first, *others))
    assert statements.sizes == [1, 3]
    async with pool.acquire() as connection:
        unclaimed = await connection.fetch(
            "SELECT range_id FROM ranges WHERE claimed_through = 0 AND epoch > 0"
        )
    assert [row["range_id"] for row in unclaimed] == [wanted[1].held.range_id]


async def test_at_the_end_whoever_waits_is_cancelled(pool: Pool, statements: Statements) -> None:
    wanted = await planted(pool)
    statements.open.clear()
    async with raising(pool) as batcher:
        tasks = await asked(batcher, wanted[:2])
        await until(lambda: bool(statements.sizes))
        tasks += await asked(batcher, wanted[2:])
    async with asyncio.timeout(20):
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, asyncio.CancelledError) for each in results)


async def test_a_claim_that_fails_leaves_the_others_to_claim_alone(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of a process share a statement. One that no database takes must not fail the others."""
    wanted = await planted(pool)

    async def refuse(connection: Connection, raises: Sequence[WatermarkAdvance]) -> set[tuple[int, int]]:
        await connection.execute("SELECT 1 / 0")
        raise AssertionError("the statement is refused")

    async with raising(pool) as batcher:
        monkeypatch.setattr(claim_batcher, "advance_within_caps", refuse)
        assert await asyncio.gather(*await asked(batcher, wanted)) == [None] * len(wanted)
        monkeypatch.setattr(claim_batcher, "advance_within_caps", advance_watermarks)
        assert all(await asyncio.gather(*await asked(batcher, wanted))), "nothing was claimed, and it goes on"
