"""Which errors count as a lost database: the caller waits and repeats, and does not end."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from drumbeat.engine.store.database import (
    LOST_CONNECTION,
    OwnConnection,
    Pool,
    is_lost,
    open_pool,
    report_loop_errors,
)
from tests.kit.proxy import proxied
from tests.kit.waiting import until


@pytest.fixture
def database(database_url: str) -> str:
    return urlsplit(database_url).path[1:]


async def _ask_again(pool: Pool) -> Exception:
    """The first error of a pool whose one connection was taken from it."""
    for _ in range(2):
        try:
            await pool.fetchval("SELECT 1")
        except Exception as error:
            if not isinstance(error, asyncpg.AdminShutdownError):
                return error
    raise AssertionError("the database still answers")


async def test_a_database_closed_to_newcomers_is_a_lost_one(
    server_url: str, database_url: str, database: str
) -> None:
    async with open_pool(database_url, size=1) as pool, open_pool(server_url, size=1) as server:
        await server.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
        await server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", database
        )
        async with asyncio.timeout(30):
            while not isinstance(error := await _ask_again(pool), asyncpg.ObjectNotInPrerequisiteStateError):
                assert isinstance(error, LOST_CONNECTION)
        await server.execute(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
        assert isinstance(error, LOST_CONNECTION), type(error)
        assert await pool.fetchval("SELECT 1") == 1


async def test_a_lock_timeout_counts_as_a_lost_connection(pool: Pool) -> None:
    async with pool.acquire() as holder, pool.acquire() as other, holder.transaction():
        await holder.execute("SELECT pg_advisory_lock(1)")
        await other.execute("SET lock_timeout = '1ms'")
        with pytest.raises(LOST_CONNECTION):
            await other.execute("SELECT pg_advisory_lock(1)")
        await holder.execute("SELECT pg_advisory_unlock(1)")


async def test_an_own_connection_is_kept_and_comes_back_after_it_was_cut(pool: Pool) -> None:
    own = OwnConnection(pool)
    seen = []
    for _ in range(2):
        async with own.use() as connection:
            seen.append(await connection.fetchval("SELECT pg_backend_pid()"))
    assert seen[0] == seen[1]
    await pool.execute("SELECT pg_terminate_backend($1)", seen[0])
    async with asyncio.timeout(10):
        while len(seen) == 2:
            with suppress(*LOST_CONNECTION):
                async with own.use() as connection:
                    seen.append(await connection.fetchval("SELECT pg_backend_pid()"))
    assert seen[2] != seen[0]
    await own.release()
    assert pool.get_idle_size() == pool.get_size()


async def test_an_own_connection_is_left_after_an_error(pool: Pool) -> None:
    own = OwnConnection(pool)
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with own.use() as connection, connection.transaction():
            await connection.fetchval("SELECT 1 / 0")
    assert pool.get_idle_size() == pool.get_size()


async def test_the_drivers_log_of_a_lost_connection_is_dropped_and_everything_else_is_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    cut = {"message": "Future exception was never retrieved", "future": future}
    report_loop_errors(loop, {**cut, "exception": asyncpg.ConnectionDoesNotExistError("cut")})
    assert not caplog.records
    report_loop_errors(loop, {**cut, "exception": ValueError("a bug")})
    report_loop_errors(
        loop, {"message": "in a callback", "exception": asyncpg.ConnectionDoesNotExistError("cut")}
    )
    assert len(caplog.records) == 2
    future.cancel()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives up what is not acknowledged")
async def test_a_server_that_acknowledges_nothing_is_lost_before_a_command_times_out(
    monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    """Both the connection that waits for an answer and the one that rests."""
    monkeypatch.setattr("drumbeat.engine.store.database.UNACKNOWLEDGED_S", 2)
    parts = urlsplit(database_url)
    async with proxied(Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432") as proxy:
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}"
        async with open_pool(url, size=2, command_timeout_s=20) as pool:
            async with pool.acquire() as asking, pool.acquire() as resting:
                assert [await one.fetchval("SELECT 1") for one in (asking, resting)] == [1, 1]
                try:
                    proxy.darken()
                except PermissionError:
                    pytest.skip("no right to attach a filter to a socket")
                with pytest.raises(asyncpg.ConnectionDoesNotExistError):
                    await asking.fetchval("SELECT 1")
                await until(lambda: is_lost(asking) and is_lost(resting))
            assert await pool.fetchval("SELECT 1") == 1
