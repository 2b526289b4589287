"""What the console costs: few rows however large a campaign is, and one refresh however many look."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from drumbeat.benchmarks.viewing.places import views
from drumbeat.benchmarks.viewing.seed import Planted, fill
from drumbeat.benchmarks.viewing.upload import upload
from drumbeat.campaigns.console.campaigns.watch import COUNTS
from drumbeat.campaigns.console.web import cache, streams
from drumbeat.campaigns.console.web.cache import PERIOD_S, Cache, Kind
from drumbeat.campaigns.console.web.request_limits import TOKEN_FAILURES, WHOLE_READINGS_AT_ONCE
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token, remove_token
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Connection, Pool, open_pool
from drumbeat.engine.store.queries import queries
from tests.console.conftest import Caller, console
from tests.kit.waiting import until

NUMBERS = [str(number) for number in range(1000, 1016)]
# In 75 ranges. A page looks at some of these ranges, or at some pages of the table by an index.
RECIPIENTS = 40_000
ROWS_MAX = RECIPIENTS // 4
# A file has all recipients. The others count all of them, or all with a reason; pages do so in the background.
WHOLE = ("/export", "/report", "/reasons", "/results", "/plan", "/launch")
WATCHERS = 12
READS = 4

ROWS_READ = """
SELECT sum(coalesce(seq_tup_read, 0) + greatest(coalesce(idx_tup_fetch, 0), entries))::bigint
FROM pg_stat_user_tables AS tables,
     LATERAL (SELECT coalesce(sum(idx_tup_read), 0) AS entries FROM pg_stat_user_indexes AS indexes
              WHERE indexes.relid = tables.relid AND indexrelname !~ 'phone') AS of_indexes
WHERE relname ~ '^(recipients|outcomes|incoming_messages)'
"""


WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


@pytest.fixture
async def large(database_url: str) -> Planted:
    return (await fill(database_url, NUMBERS, RECIPIENTS))[0]


async def rows_read(pool: Pool) -> int:
    """By all sessions of the pool, in the tables that grow with recipients. The few pending attempts are read
    whole, which costs less here than their index. An index of filters (of phones) tells no number of entries.
    """
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


@asynccontextmanager
async def with_all_it_begins() -> AsyncIterator[None]:
    """Wait at the end for all tasks of this loop, and so of the console, that began in the block."""
    before = asyncio.all_tasks()
    yield
    if begun := asyncio.all_tasks() - before:
        _, endless = await asyncio.wait(begun, timeout=60)
        assert not endless, endless


async def test_no_view_reads_a_large_campaign(
    database_url: str, large: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are charged to the view that began to read them, also those of a reading in the background."""
    monkeypatch.setattr(streams, "PERIOD_S", 0.1)
    async with open_pool(database_url, size=4) as pool, console(pool, database_url, tmp_path) as url:
        caller, read = Caller(url, await add_token(pool, "all", Role.MANAGE, actor="test")), {}
        async with aiohttp.ClientSession(headers=caller.headers) as session:
            examples = large.examples(await upload(session, url))
        for view in views(examples):
            before = await rows_read(pool)
            async with with_all_it_begins():
                reply = await caller.get(view.address)
            # Of a running campaign there is nothing to edit, for example: that is said with 422.
            assert reply.status in {200, 303, 409, 422}, (view.address, reply.text)
            read[view.route] = await rows_read(pool) - before
    costly = {route: rows for route, rows in read.items() if rows > ROWS_MAX and not route.endswith(WHOLE)}
    assert list(costly.items()) == []


async def test_many_who_come_at_once_with_a_right_token_are_let_in(manager: Caller) -> None:
    """As dashboards do after a restart: what is limited are wrong tokens."""
    replies = await asyncio.gather(*(manager.get("/api/v1/tokens") for _ in range(2 * TOKEN_FAILURES.burst)))
    assert {reply.status for reply in replies} == {200}


def of_period(period_s: float, **more: Any) -> Kind[int, Any]:
    return Kind("thing", period_s, **more)


@pytest.mark.parametrize("fails", [False, True])
async def test_who_looks_in_the_same_second_shares_the_reading(fails: bool) -> None:
    reads = 0

    async def read() -> str:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0)
        if fails:
            raise OSError("the database is away")
        return "spring"

    shared, kind = Cache(), of_period(PERIOD_S)
    found = await asyncio.gather(
        *(shared.get(kind, 1, read) for _ in range(WATCHERS)), return_exceptions=True
    )
    assert reads == 1
    assert {str(each) for each in found} == {"the database is away" if fails else "spring"}


async def test_an_error_is_not_shared_for_a_long_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is kept for a minute. That the database was away is not."""
    monkeypatch.setattr(cache, "PERIOD_S", 0.0)
    replies: list[str | Exception] = [OSError("away"), "the plan", "another"]

    async def read() -> str:
        reply = replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    shared, kind = Cache(), of_period(3_600.0)
    with pytest.raises(OSError, match="away"):
        await shared.get(kind, 1, read)
    assert [await shared.get(kind, 1, read) for _ in range(2)] == ["the plan", "the plan"]


async def test_what_takes_long_to_read_rests_longer() -> None:
    reads = 0

    async def read() -> None:
        nonlocal reads
        reads += 1
        await asyncio.sleep(0)

    shared = Cache()
    rested, always = of_period(0.0, rest=1e9), of_period(0.0)
    for _ in range(3):
        await shared.get(rested, 1, read)
    assert reads == 1
    for _ in range(3):
        await shared.get(always, 1, read)
    assert reads == 4


async def test_who_forgets_a_kind_forgets_what_is_made_of_it() -> None:
    shared, replies = Cache(), iter(range(9))
    numbers, other = of_period(3_600.0), of_period(3_600.0)
    status = of_period(3_600.0, of=(numbers,))
    page = of_period(3_600.0, of=(status,))

    async def read() -> int:
        return next(replies)

    async def look() -> list[int]:
        return [await shared.get(kind, 1, read) for kind in (numbers, status, page, other)]

    assert await look() == [0, 1, 2, 3]
    shared.forget(status)
    assert await look() == [0, 4, 5, 3]
    shared.forget(numbers)
    assert await look() == [6, 7, 8, 3]


async def test_after_an_action_nobody_sees_what_was_read_before(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(pool, database_url, tmp_path) as url:
        caller = Caller(url, await add_token(pool, "all", Role.MANAGE, actor="test"))
        monkeypatch.setattr(cache, "_kept_s", lambda *_: 3_600.0)
        seen = []
        for action in ("start", "pause"):
            assert (await caller.post(f"/api/v1/campaigns/spring/{action}")).status == 200
            seen.append((await caller.get("/api/v1/campaigns/spring")).body["state"])
    assert seen == ["running", "paused"]


async def test_whole_readings_take_turns_and_leave_the_rest_of_the_pool(
    database_url: str, campaign: str, tmp_path: Path
) -> None:
    """Many who ask for reports of a large campaign take few connections, and others are answered meanwhile."""
    async with open_pool(database_url, size=4) as pool, console(pool, database_url, tmp_path) as url:
        caller = Caller(url, await add_token(pool, "all", Role.MANAGE, actor="test"))
        async with pool.acquire() as blocker, blocker.transaction():
            await blocker.execute("LOCK TABLE audit IN ACCESS EXCLUSIVE MODE")
            asked = [asyncio.create_task(caller.get("/api/v1/campaigns/spring/report")) for _ in range(8)]
            async with asyncio.timeout(60):
                while await pool.fetchval(WAITING) < WHOLE_READINGS_AT_ONCE:
                    await asyncio.sleep(0.01)
                assert (await caller.get("/api/v1/numbers")).status == 200
            assert await pool.fetchval(WAITING) == WHOLE_READINGS_AT_ONCE
        assert {reply.status for reply in await asyncio.gather(*asked)} == {200}


async def test_many_who_watch_cost_one_refresh_a_second(
    database_url: str, campaign: str, tmp_path: Path
) -> None:
    """Of a campaign and of the list. Whether reports are missing is read less often: that may take many rows."""
    asked: Counter[str] = Counter()
    names = {
        queries("progress")["status"]: "status",
        statements("results_pages")["campaigns"]: "list",
        statements("results_pages")["counts"]: "counts",
        statements("missing_reports")["missing_since"]: "missing",
    }

    async def listen(connection: Connection) -> None:
        connection.add_query_logger(lambda query: asked.update([names.get(query.query, "other")]))

    async with (
        open_pool(database_url, greet=listen) as pool,
        console(pool, database_url, tmp_path) as url,
        watching(url, "/live/campaigns/spring"),
        watching(url, "/live/campaigns"),
    ):
        asked.clear()
        began_s = time.monotonic()
        await until(lambda: min(asked["status"], asked["list"]) >= READS)
        periods = (time.monotonic() - began_s) / PERIOD_S
        assert max(asked["status"], asked["list"]) <= periods + 2
        assert asked["counts"] <= periods * PERIOD_S / COUNTS.period_s + 2
        assert asked["missing"] <= 1


@asynccontextmanager
async def watching(url: str, address: str) -> AsyncIterator[None]:
    """Many read this stream."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(aiohttp.ClientSession())
        for _ in range(WATCHERS):
            reply = await stack.enter_async_context(session.get(url + address))
            assert reply.status == 200
        yield


@asynccontextmanager
async def changing(pool: Pool) -> AsyncIterator[None]:
    """The campaign has another reason at each look."""

    async def change() -> None:
        for turn in count():
            await pool.execute("UPDATE campaigns SET reason = $1", f"reason {turn}")
            await asyncio.sleep(0.01)

    task = asyncio.create_task(change())
    try:
        yield
    finally:
        task.cancel()


async def test_nothing_is_read_for_a_reader_who_left(
    database_url: str, campaign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next write would find that nobody is there. A stream of a campaign that rests writes nothing for long."""
    monkeypatch.setattr(streams, "PERIOD_S", 0.05)
    monkeypatch.setattr(streams, "BEAT_S", 3_600.0)
    async with open_pool(database_url) as pool, console(pool, database_url, tmp_path) as url:
        caller = Caller(url, await add_token(pool, "all", Role.MANAGE, actor="test"))
        with capture_logs() as logs:
            assert (await caller.get("/live/campaigns/spring")).status == 200
            await until(lambda: any(each["event"] == "request_answered" for each in logs))


async def test_a_stream_that_is_never_silent_ends_with_the_right_to_see_it(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "PERIOD_S", 0.05)
    monkeypatch.setattr(streams, "BEAT_S", 0.2)
    async with console(pool, database_url, tmp_path) as url, asyncio.timeout(60):
        token = await add_token(pool, "wall", Role.LOOK, actor="test")
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            changing(pool),
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{url}/live/campaigns/spring") as reply,
        ):
            await reply.content.readany()
            await remove_token(pool, "wall", actor="test")
            while await reply.content.readany():
                pass
            assert reply.content.at_eof()
