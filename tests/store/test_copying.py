"""A COPY ends with its connection, and a cancelled COPY stays cancelled."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from drumbeat.engine.store.copying import copy_text
from drumbeat.engine.store.database import Connection, connect
from tests.kit.proxy import Proxy, proxied
from tests.kit.waiting import until

STALLED_BYTES = 1 << 20  # in the client's own buffer: the kernel takes nothing more
LARGE = b"x" * 8 * STALLED_BYTES + b"\n"


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    async with proxied(Path(parse_qs(urlsplit(database_url).query)["host"][0]) / ".s.PGSQL.5432") as proxy:
        yield proxy


@pytest.fixture
async def copying(proxy: Proxy, database_url: str) -> AsyncIterator[asyncio.Task[None]]:
    """A COPY of rows without end, whose server takes no more of them."""
    connection = await connect(f"postgresql://postgres@127.0.0.1:{proxy.port}{urlsplit(database_url).path}")
    await connection.execute("CREATE TEMPORARY TABLE texts (line text)")
    proxy.stall()
    task = asyncio.create_task(copy_text(connection, "texts", _without_end()))
    await _until_stalled(connection)
    yield task
    connection.terminate()
    await asyncio.wait([task])


async def _without_end() -> AsyncIterator[bytes]:
    while True:
        yield LARGE


async def _until_stalled(connection: Connection) -> None:
    await until(lambda: connection._transport.get_write_buffer_size() >= STALLED_BYTES)


async def test_a_connection_that_is_lost_while_the_server_takes_nothing_ends_it(
    proxy: Proxy, copying: asyncio.Task[None]
) -> None:
    proxy.reset()
    async with asyncio.timeout(30):
        with pytest.raises(asyncpg.ConnectionDoesNotExistError):
            await copying


async def test_a_cancelled_copy_raises_cancelled(copying: asyncio.Task[None]) -> None:
    copying.cancel()
    async with asyncio.timeout(30):
        with pytest.raises(asyncio.CancelledError):
            await copying


async def test_an_error_of_the_server_is_raised_and_the_next_copy_works(connection: Connection) -> None:
    async def lines(*each: bytes) -> AsyncIterator[bytes]:
        for line in each:
            yield line

    await connection.execute("CREATE TEMPORARY TABLE whole (number integer)")
    with pytest.raises(asyncpg.DataError):
        await copy_text(connection, "whole", lines(b"one\n"))
    await copy_text(connection, "whole", lines(b"1\n", b"2\n"), ["number"])
    assert await connection.fetchval("SELECT sum(number) FROM whole") == 3
