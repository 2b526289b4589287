"""Slow and idle connections: each ends after a while, and however many there are, others are served."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from drumbeat.campaigns.console.server import running_console
from drumbeat.campaigns.console.web import connections
from drumbeat.campaigns.console.web.connections import Connections
from drumbeat.engine.process.settings import MetricsAddress, Settings
from drumbeat.engine.store.database import Pool
from tests.console.conftest import Caller, console
from tests.kit.ports import free_port

SLOW = 182
SECONDS_MAX = 20.0
HEAD = "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
BODY = f"{HEAD}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nname="


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bounds, sooner."""
    for name in ("HEAD_S_MAX", "BODY_S_MAX", "STALL_S_MAX", "SWEEP_S"):
        monkeypatch.setattr(connections, name, 0.2)


@asynccontextmanager
async def opened(url: str, text: str) -> AsyncIterator[asyncio.StreamReader]:
    """A connection that sends a text, and nothing more."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        writer.write(text.encode())
        yield reader
    finally:
        writer.close()


async def end_of(reader: asyncio.StreamReader) -> bytes:
    """What arrives until the console closes the connection."""
    async with asyncio.timeout(SECONDS_MAX):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


@pytest.mark.parametrize("text", ["", HEAD, BODY])
async def test_a_request_that_does_not_arrive_ends(hurry: None, url: str, text: str) -> None:
    async with opened(url, text) as reader:
        reply = await end_of(reader)
    assert text == BODY or reply.startswith(b"HTTP/1.1 408 ")


async def test_a_body_that_drips_ends(hurry: None, url: str) -> None:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(BODY.encode())

    async def drip() -> None:
        while not writer.is_closing():
            writer.write(b"a")
            await asyncio.sleep(0.05)

    dripping = asyncio.create_task(drip())
    try:
        began_s = time.monotonic()
        await end_of(reader)
        assert time.monotonic() - began_s < 4.5  # the body would take 5 s
    finally:
        dripping.cancel()
        writer.close()


async def test_an_answer_that_takes_long_is_not_cut(hurry: None, url: str) -> None:
    """An open page waits for what changes. It is our turn, not the client's."""
    async with aiohttp.ClientSession() as session, session.get(f"{url}/live/campaigns") as reply:
        await reply.content.readany()
        await asyncio.sleep(1.0)
        assert (await Caller(url).get("/campaigns")).status == 200
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reply.content.read(), 0.3)


@pytest.mark.parametrize("text", [HEAD, BODY])
async def test_slow_ones_keep_nobody_out(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Neither from another address, which a proxy's count stands for, nor from their own."""
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", SLOW // 2)
    for proxies in (None, "127.0.0.1"):
        async with (
            AsyncExitStack() as stack,
            console(pool, database_url, tmp_path, console_proxies=proxies) as url,
        ):
            for _ in range(SLOW):
                await stack.enter_async_context(opened(url, text))
            for _ in range(3):
                assert (await Caller(url).get("/campaigns")).status == 200


async def test_health_checks_answer_beside_slow_ones(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECTIONS_MAX", SLOW // 2)
    port = free_port()
    settings = Settings(home=tmp_path, database_url=database_url)
    running = running_console(
        pool,
        database_url,
        settings,
        host="127.0.0.1",
        port=0,
        stop=asyncio.Event(),
        metrics=MetricsAddress("127.0.0.1", port),
    )
    async with AsyncExitStack() as stack, running as url:
        for _ in range(SLOW):
            await stack.enter_async_context(opened(url, HEAD))
        for path in ("/livez", "/readyz", "/metrics"):
            assert (await Caller(f"http://127.0.0.1:{port}").get(path)).status == 200


class Peer(asyncio.Transport):
    """A transport that notes whether it was cut."""

    def __init__(self, address: str) -> None:
        super().__init__({"peername": (address, 1)})
        self.is_cut = False

    def abort(self) -> None:
        self.is_cut = True


def test_an_address_with_many_gives_way_before_others() -> None:
    found = Connections(asyncio.Protocol, lambda _: False, most=8)

    def connect(address: str) -> Peer:
        peer = Peer(address)
        found.connect().connection_made(peer)
        return peer

    many = [connect("192.0.2.1") for _ in range(3)]
    assert [each.is_cut for each in many] == [True, False, False]  # a fourth of all: its oldest goes
    others = [connect(f"10.0.0.{n}") for n in range(7)]
    assert not any(each.is_cut for each in others) and many[1].is_cut
