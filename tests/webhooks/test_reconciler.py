"""The loops behind the receiver: what wakes them, which failures they survive, and what ends them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from structlog.testing import capture_logs

from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store.database import LOST_CONNECTION, Connection, Pool, open_pool
from drumbeat.engine.store.status_applier import BATCH_EVENTS_MAX, AppliedBatch
from drumbeat.engine.webhooks import reconciler
from drumbeat.engine.webhooks.metrics import Metrics
from drumbeat.engine.webhooks.reconciler import Intervals, Reconciler
from tests.kit.account_events import plant_template, store_template_event
from tests.kit.planted import (
    FIRST_RANGE,
    NUMBER,
    installation,
    plant_campaign,
    put_in_doubt,
    put_in_inbox,
    state_of,
    status_event,
)
from tests.kit.proxy import proxied
from tests.kit.waiting import until_reads


@asynccontextmanager
async def reconciling(
    pool: Pool, intervals: Intervals | None = None
) -> AsyncIterator[tuple[asyncio.Event, Metrics]]:
    committed, stop, metrics = asyncio.Event(), asyncio.Event(), Metrics()
    often = intervals or Intervals(gather_s=0.0, apply_s=0.05, act_s=0.05, policy_s=0.05)
    running = asyncio.create_task(Reconciler(pool, metrics, committed, often).run(stop))
    try:
        yield committed, metrics
    finally:
        stop.set()
        async with asyncio.timeout(5):
            await running


async def test_a_commit_wakes_the_status_applier(pool: Pool) -> None:
    async with reconciling(pool, Intervals(gather_s=0.0, apply_s=3600.0)) as (committed, _):
        async with pool.acquire() as connection:
            await plant_campaign(connection)
            tag = Tag(await installation(connection), FIRST_RANGE, 1, 1, 1)
            await put_in_inbox(connection, status_event("w", 2, tag))
        committed.set()
        await until_reads(pool, "SELECT count(*) FROM waiting_events", 0)


async def test_the_loops_outlive_a_lost_database(server_url: str, database_url: str) -> None:
    name = urlsplit(database_url).path[1:]
    async with open_pool(database_url, size=4) as pool, open_pool(server_url, size=1) as server:
        async with pool.acquire() as connection:
            await plant_campaign(connection, on_unknown="resend")
            await plant_template(connection)
            own = await installation(connection)
        async with reconciling(pool):
            for _ in range(3):
                await server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
                )
            async with asyncio.timeout(15):
                while True:
                    try:
                        async with pool.acquire() as connection:
                            await put_in_inbox(
                                connection, status_event("w", 2, Tag(own, FIRST_RANGE, 1, 1, 1))
                            )
                            await put_in_doubt(connection, FIRST_RANGE, 2)
                            await store_template_event(connection, "PENDING")
                        break
                    except LOST_CONNECTION:
                        await asyncio.sleep(0)
            await until_reads(pool, "SELECT count(*) FROM waiting_events", 0)
            await until_reads(pool, "SELECT status FROM templates", "PENDING")
            await until_reads(pool, "SELECT deferred FROM range_counters", 1)
        async with pool.acquire() as connection:
            assert await state_of(connection, 1) == "sent"


async def test_the_wait_for_a_missing_event_is_a_setting(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_campaign(connection, on_unknown="resend-silent")
        await put_in_doubt(connection, FIRST_RANGE, 1, 2)
        await connection.execute("UPDATE pending_attempts SET since = now() - make_interval(hours => seq)")
        await connection.execute("INSERT INTO event_flow VALUES ($1, now())", NUMBER)
    async with reconciling(pool, Intervals(policy_s=0.05, silence_s=5400.0)):
        await until_reads(pool, "SELECT deferred > 0 FROM range_counters", True)
    async with pool.acquire() as connection:
        assert [await state_of(connection, seq) for seq in (1, 2)] == ["unknown", "deferred"]


async def test_a_bug_in_one_of_the_loops_ends_them_all(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the process ends, its supervisor restarts it. Without an end nothing would."""

    async def act(_: Connection) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(reconciler, "act", act)
    async with asyncio.timeout(15):
        with pytest.raises(ZeroDivisionError):
            await Reconciler(pool, Metrics(), asyncio.Event()).run(asyncio.Event())


@pytest.mark.parametrize("turns", range(6))
async def test_a_loop_that_is_ended_as_its_wait_is_over_ends(turns: int) -> None:
    """Otherwise it would run for ever after a bug ended another loop, because the stop is not set then."""
    over = asyncio.Event()
    over.set()

    async def loop() -> None:
        await reconciler._first_of(over, timeout_s=15)
        await asyncio.Event().wait()

    task = asyncio.create_task(loop())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    ended, _ = await asyncio.wait([task], timeout=15)
    task.cancel()
    assert ended


@pytest.mark.parametrize("full", [True, False])
async def test_a_full_batch_is_followed_by_the_next_at_once(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    """The batch was full, or events were committed meanwhile. The next regular turn is an hour away."""
    stop, committed = asyncio.Event(), asyncio.Event()
    batches = iter((AppliedBatch(taken=BATCH_EVENTS_MAX if full else 1), AppliedBatch()))

    async def apply_statuses(_: Connection) -> AppliedBatch:
        applied = next(batches)
        if not applied.taken:
            stop.set()
        elif not full:
            committed.set()
        return applied

    monkeypatch.setattr(reconciler, "apply_statuses", apply_statuses)
    async with asyncio.timeout(15):
        await Reconciler(pool, Metrics(), committed, Intervals(gather_s=0.0, apply_s=3600.0)).run(stop)


async def test_what_is_under_way_at_a_stop_is_done(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, done = asyncio.Event(), asyncio.Event()

    async def apply_statuses(_: Connection) -> AppliedBatch:
        stop.set()
        for _ in range(100):
            await asyncio.sleep(0)
        done.set()
        return AppliedBatch()

    monkeypatch.setattr(reconciler, "apply_statuses", apply_statuses)
    await Reconciler(pool, Metrics(), asyncio.Event()).run(stop)
    assert done.is_set()


async def test_a_problem_is_logged_and_its_end_too(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    stop, errors = asyncio.Event(), iter((ConnectionResetError(), None))

    async def apply_statuses(_: Connection) -> AppliedBatch:
        if (error := next(errors)) is not None:
            raise error
        stop.set()
        return AppliedBatch()

    monkeypatch.setattr(reconciler, "apply_statuses", apply_statuses)
    with capture_logs() as lines:
        await Reconciler(pool, Metrics(), asyncio.Event()).run(stop)
    logged = [line["event"] for line in lines if line["event"].startswith("statuses_")]
    assert logged == ["statuses_not_applied", "statuses_applied_again"]


async def test_dropped_events_are_logged_with_both_reasons(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events of another program are dropped within a minute; a log line about eight days would mislead."""
    stop, metrics = asyncio.Event(), Metrics()

    async def apply_statuses(_: Connection) -> AppliedBatch:
        stop.set()
        return AppliedBatch(taken=6, returned=2, dropped=1)

    monkeypatch.setattr(reconciler, "apply_statuses", apply_statuses)
    with capture_logs() as lines:
        await Reconciler(pool, metrics, asyncio.Event()).run(stop)
    assert metrics.applied == {"matched": 3, "returned": 2, "dropped": 1}
    [logged] = [line for line in lines if line["event"] == "events_dropped"]
    assert logged["events"] == 1
    assert "in time" in logged["why"] and "another program" in logged["why"]


async def test_a_connection_that_answers_nothing_is_not_waited_for_a_second_time(
    database_url: str, pool: Pool, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver waits for the end of a cancelled statement as long again as for the statement."""
    monkeypatch.setattr("drumbeat.engine.webhooks.reconciler.ACQUIRE_S", 0.1)
    await plant_campaign(connection)
    parts = urlsplit(database_url)
    async with proxied(Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432") as proxy:
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}"
        options = {"size": 1, "command_timeout_s": 5.0}
        async with open_pool(url, **options) as through, open_pool(url, **options) as patient:
            proxy.vanish()
            waiting = asyncio.create_task(patient.fetchval("SELECT 1"))
            seldom = Intervals(gather_s=0.0, act_s=3600.0, policy_s=3600.0)
            async with reconciling(through, seldom):
                await put_in_inbox(
                    connection,
                    status_event("w", 2, Tag(await installation(connection), FIRST_RANGE, 1, 1, 1)),
                )
                await until_reads(pool, "SELECT count(*) FROM waiting_events", 0)
                assert not waiting.done()
            with pytest.raises(TimeoutError):
                await waiting
