"""A server on real sockets: how many connections it takes, and how it ends them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from drumbeat.http_server.connection import HttpConnection
from drumbeat.http_server.limits import Limits
from drumbeat.http_server.server import Server
from tests.http_server.test_connection import GET, Application

LIMITS = Limits(body_bytes=1000, usual_body_bytes=1000)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@contextlib.asynccontextmanager
async def listening(server: Server[Application]) -> AsyncIterator[int]:
    listener = await asyncio.get_running_loop().create_server(server.connect, "127.0.0.1", 0)
    try:
        async with asyncio.timeout(60):
            yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await server.drain(1)


async def ask(streams: Streams) -> bytes:
    reader, writer = streams
    writer.write(GET)
    return await reader.readexactly(len(b"HTTP/1.1 200 "))


async def test_a_connection_above_the_limit_is_closed_until_another_ends() -> None:
    changes: list[int] = []
    server = Server(
        Application(),
        replace(LIMITS, connections=1),
        HttpConnection,
        lambda: changes.append(len(server.connections)),
    )
    async with listening(server) as port:
        first = await asyncio.open_connection("127.0.0.1", port)
        assert await ask(first) == b"HTTP/1.1 200 "
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
        assert server.refused == 1
        first[1].close()
        while server.connections:
            await asyncio.sleep(0)
        further = await asyncio.open_connection("127.0.0.1", port)
        assert await ask(further) == b"HTTP/1.1 200 "
        further[1].close()
    assert changes == [1, 1, 0, 1, 0]


async def test_a_drain_waits_for_open_replies_and_closes_idle_connections_at_once() -> None:
    application = Application(at_once=False)
    server = Server(application, LIMITS, HttpConnection)
    async with listening(server) as port:
        asked, idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        asked[1].write(GET)
        while not application.slots:
            await asyncio.sleep(0)
        draining = asyncio.create_task(server.drain(60))
        assert await idle[0].read() == b""
        assert len(server.connections) == 1
        application.slots[0].finish(b"late reply")
        assert await asked[0].read() == b"late reply"
        await draining
        for _, writer in (asked, idle):
            writer.close()


async def test_a_drain_ends_after_its_timeout() -> None:
    application = Application(at_once=False)
    server = Server(application, LIMITS, HttpConnection)
    async with listening(server) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(GET)
        while not application.slots:
            await asyncio.sleep(0)
        await server.drain(0.01)
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        while server.connections:
            await asyncio.sleep(0)
