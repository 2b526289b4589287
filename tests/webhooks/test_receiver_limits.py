"""What the receiver bears: sizes, slow peers, too many of them, and a line of bodies that is full."""

import asyncio
import tracemalloc
from collections import Counter
from typing import cast

import pytest

from engine.store.database import Pool
from engine.webhooks.http import Answer, HttpConnection, Limits
from engine.webhooks.places import Places
from tests.webhooks.conftest import running
from tests.webhooks.conversation import Peer, ask, get, post, status, statuses_body


async def stored(pool: Pool, table: str = "waiting_events") -> int:
    count: int = await pool.fetchval(f"SELECT count(*) FROM {table}")
    return count


async def test_large_bodies_are_read_few_at_a_time(pool: Pool) -> None:
    """Each that is under way has a place, and gives it back however it ends."""
    body = statuses_body(status("wamid.1"), status("wamid.2"))
    request = post(body)
    limits = Limits(usual_body_bytes=len(body) // 2, large_bodies=2)
    async with asyncio.timeout(60), running(pool, limits) as small:

        async def begun(missing: int) -> Peer:
            free = small.receiver._places.free
            peer = await Peer.connect(small.url)
            await peer.send(request[:-missing])
            while small.receiver._places.free == free:
                await asyncio.sleep(0)
            return peer

        peers = [await begun(missing=9) for _ in range(2)]
        assert (await ask(small.url, request)).status == 503
        await peers[0].send(request[-9:])
        assert (await peers[0].reply()).status == 200
        assert (await ask(small.url, request)).status == 200, "the place of what was read whole"
        peers[1].close()
        while small.receiver._places.free < 2:
            await asyncio.sleep(0)
        peers += [await begun(missing=9), await begun(missing=9)]
        assert (await ask(small.url, post(b"small"))).status == 200, "it needs no place"
        await peers[0].send(request)
        assert (await peers[0].reply()).status == 503
        for peer in peers:
            peer.close()
        while small.receiver._places.free < 2:
            await asyncio.sleep(0)
    assert await stored(pool) == 4


SMALL = Limits(body_bytes=1000, head_bytes=2000, headers=8, url_bytes=100, request_s=0.2, idle_s=0.2)


CHUNKED = b"POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (post(b"x" * 1001), 413),
        (b"POST /webhook HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400),
        (b"POST /webhook HTTP/1.1\r\nContent-Length: 9999999999\r\n\r\n", 413),
        (CHUNKED + b"400\r\n" + b"x" * 1024 + b"\r\n0\r\n\r\n", 413),
        (get("/" + "x" * 200), 414),
        (b"GET /livez HTTP/1.1\r\n" + b"".join(b"a%d: 1\r\n" % n for n in range(9)) + b"\r\n", 431),
        (b"GET /livez HTTP/1.1\r\na: " + b"x" * 3000 + b"\r\n\r\n", 431),
        (b"GET /livez HTTP/1.1\r\na: " + b"x" * 3000, 431),
        (
            b"POST /webhook HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
            + b"".join(b"a%d: 1\r\n" % n for n in range(900)),
            413,
        ),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /livez HTTP/1.1\r\nHost: x\r\na:", 408),
        (b"POST /webhook HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf", 408),
    ],
)
async def test_what_goes_beyond_a_limit_ends_the_connection(pool: Pool, sent: bytes, answer: int) -> None:
    async with running(pool, SMALL) as small:
        peer = await Peer.connect(small.url)
        await peer.send(sent)
        reply = await peer.reply()
        assert (reply.status, reply.headers["connection"]) == (answer, "close")
        assert await peer.is_closed()
        peer.close()


class Written:
    """Stands for the transport of a peer: what is held of it can be weighed."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return False

    def write_eof(self) -> None: ...

    def pause_reading(self) -> None: ...


async def test_of_too_many_bodies_that_wait_for_their_rest_the_first_gives_way() -> None:
    """Whoever begins many and ends none keeps nobody out who sends without a pause."""
    places = Places(0, 250)

    def connected() -> tuple[HttpConnection, Written]:
        peer = Written()
        connection = HttpConnection(
            lambda slot, *_: slot.fill(Answer(200)), Limits(), places, lambda _: None, Counter()
        )
        connection.connection_made(cast(asyncio.Transport, peer))
        return connection, peer

    head, part = b"POST / HTTP/1.1\r\nContent-Length: 200\r\n\r\n", b"x" * 50
    (first, one), (second, two), (third, three), (whole, four) = [connected() for _ in range(4)]
    first.data_received(head + part)
    second.data_received(head)
    for _ in range(2):
        second.data_received(part)
    first.data_received(part)
    whole.data_received(head + 4 * part)
    assert (four.data[9:12], places.waiting_bytes) == (b"200", 200), "what comes whole waits for nothing"
    third.data_received(head + part)
    assert (one.data, places.waiting_bytes) == (b"", 250)
    third.data_received(part)
    assert (one.data[9:12], two.data, three.data, places.waiting_bytes) == (b"503", b"", b"", 200)
    second.data_received(part + part)
    assert (two.data[9:12], places.waiting_bytes) == (b"200", 100)
    third.connection_lost(None)
    assert places.waiting_bytes == 0


def held_bytes(begin: bytes, more: bytes, times: int) -> tuple[int, bytes]:
    """What the memory holds of a body that is not whole, and what was answered."""
    peer = Written()
    connection = HttpConnection(
        lambda slot, *_: slot.fill(Answer(200)), Limits(), Places(0, 2**30), lambda _: None, Counter()
    )
    connection.connection_made(cast(asyncio.Transport, peer))
    tracemalloc.start()
    try:
        connection.data_received(CHUNKED + begin)
        for _ in range(times):
            connection.data_received(more)
        return tracemalloc.get_traced_memory()[0], peer.data
    finally:
        tracemalloc.stop()


async def test_a_body_in_tiny_chunks_takes_no_more_memory_than_its_size() -> None:
    size = 2 * 9_000 * 40
    held, answer = held_bytes(b"", b"2\r\nxy\r\n" * 9_000, 40)
    assert (held < 2 * size, answer) == (True, b"")


@pytest.mark.parametrize("lines", [b"".join(b"a%d: 1\r\n" % n for n in range(9_000)), b"x" * 90_000])
async def test_a_trailer_is_not_kept_however_long_it_is(lines: bytes) -> None:
    held, answer = held_bytes(b"1\r\nx\r\n0\r\na: ", lines, 20)
    assert held < 10 * len(lines)
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_a_head_behind_many_whole_requests_is_no_trailer() -> None:
    """They come in one piece, which is longer than any head may be."""
    whole = b"1\r\nx\r\n0\r\n\r\n"
    _, answers = held_bytes(whole, (CHUNKED + whole) * 300 + CHUNKED, 1)
    assert answers.count(b"HTTP/1.1 200 ") == answers.count(b"HTTP/1.1 ") == 301


async def test_a_peer_that_drips_its_header_is_ended(pool: Pool) -> None:
    async with running(pool, SMALL) as small:
        peer = await Peer.connect(small.url)

        async def drip() -> None:
            for byte in b"GET /livez HTTP/1.1\r\n" + b"a: b\r\n" * 10_000:
                await peer.send(bytes([byte]))
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        assert (await peer.reply()).status == 408
        dripping.cancel()
        await asyncio.gather(dripping, return_exceptions=True)
        peer.close()


async def test_an_idle_connection_is_ended(pool: Pool) -> None:
    async with running(pool, SMALL) as small:
        peer = await Peer.connect(small.url)
        assert await peer.is_closed()
        peer.close()


async def test_connections_beyond_the_limit_are_refused_and_room_returns(pool: Pool) -> None:
    async with running(pool, Limits(connections=2)) as small:
        peers = [await Peer.connect(small.url) for _ in range(2)]
        for peer in peers:
            await peer.send(get("/livez"))
            assert (await peer.reply()).status == 200
        refused = await Peer.connect(small.url)
        assert await refused.is_closed()
        refused.close()
        peers.pop().writer.close()
        async with asyncio.timeout(30):
            while small.metrics.connections == 2:
                await asyncio.sleep(0)
        assert (await ask(small.url, get("/livez"))).status == 200
        assert small.metrics.refused_connections == 1
        peers.pop().close()


async def test_a_full_line_answers_503_and_recovers(pool: Pool) -> None:
    async with running(pool, waiting_events_max=3) as small:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE inbox_groups IN ACCESS EXCLUSIVE MODE")
            waiting = [
                asyncio.create_task(ask(small.url, post(statuses_body(status(f"w{n}"))))) for n in range(3)
            ]
            async with asyncio.timeout(30):
                while small.metrics.waiting < 3:
                    await asyncio.sleep(0)
            overflowing = statuses_body(status("w4"))
            assert (await ask(small.url, post(overflowing))).status == 503
        assert [reply.status for reply in await asyncio.gather(*waiting)] == [200] * 3
        assert (await ask(small.url, post(overflowing))).status == 200
        assert await stored(pool) == 4


async def test_bodies_wait_up_to_a_size_and_make_room_when_they_are_stored(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = statuses_body(status("w"))
    monkeypatch.setattr("engine.webhooks.intake.WAITING_BYTES_MAX", len(body))
    async with running(pool) as small:
        assert [(await ask(small.url, post(body))).status for _ in range(3)] == [200] * 3
        assert (await ask(small.url, post(body + b" "))).status == 503
    assert await stored(pool) == 3
