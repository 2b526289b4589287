"""The limits of the receiver: sizes, slow peers, too many of them, and a queue of bodies that is full."""

import asyncio
from dataclasses import replace

import pytest

from drumbeat.engine.store.database import Pool
from drumbeat.engine.webhooks.receiver import LIMITS
from tests.kit.waiting import until
from tests.webhooks.conftest import running
from tests.webhooks.conversation import Peer, ask, get, post, status, statuses_body


async def stored(pool: Pool, table: str = "waiting_events") -> int:
    count: int = await pool.fetchval(f"SELECT count(*) FROM {table}")
    return count


async def test_large_bodies_are_read_few_at_a_time(pool: Pool) -> None:
    """Each body that is being read holds a place in the limit, and releases it however it ends."""
    body = statuses_body(status("wamid.1"), status("wamid.2"))
    request = post(body)
    limits = replace(LIMITS, usual_body_bytes=len(body) // 2, large_bodies=2)
    async with asyncio.timeout(60), running(pool, limits) as small:
        quota = small.receiver.server.body_quota

        async def begun(missing: int) -> Peer:
            free = quota.large_bodies_free
            peer = await Peer.connect(small.url)
            await peer.send(request[:-missing])
            await until(lambda: quota.large_bodies_free != free)
            return peer

        peers = [await begun(missing=9) for _ in range(2)]
        assert (await ask(small.url, request)).status == 503
        await peers[0].send(request[-9:])
        assert (await peers[0].reply()).status == 200
        assert (await ask(small.url, request)).status == 200, "the permit of a body that was read whole"
        peers[1].close()
        await until(lambda: quota.large_bodies_free >= 2)
        peers += [await begun(missing=9), await begun(missing=9)]
        assert (await ask(small.url, post(b"small"))).status == 200, "it needs no permit"
        await peers[0].send(request)
        assert (await peers[0].reply()).status == 503
        for peer in peers:
            peer.close()
        await until(lambda: quota.large_bodies_free >= 2)
    assert await stored(pool) == 4


SMALL = replace(LIMITS, body_bytes=1000, head_bytes=2000, headers=8, url_bytes=100, request_s=0.2, idle_s=0.2)


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


async def test_connections_beyond_the_limit_are_refused_until_one_ends(pool: Pool) -> None:
    async with running(pool, replace(LIMITS, connections=2)) as small:
        peers = [await Peer.connect(small.url) for _ in range(2)]
        for peer in peers:
            await peer.send(get("/livez"))
            assert (await peer.reply()).status == 200
        refused = await Peer.connect(small.url)
        assert await refused.is_closed()
        refused.close()
        peers.pop().writer.close()
        await until(lambda: small.metrics.connections != 2)
        assert (await ask(small.url, get("/livez"))).status == 200
        assert small.metrics.refused_connections == 1
        peers.pop().close()


async def test_a_full_queue_answers_503_and_recovers(pool: Pool) -> None:
    async with running(pool, waiting_events_max=3) as small:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE inbox_groups IN ACCESS EXCLUSIVE MODE")
            waiting = [
                asyncio.create_task(ask(small.url, post(statuses_body(status(f"w{n}"))))) for n in range(3)
            ]
            await until(lambda: small.metrics.waiting >= 3)
            overflowing = statuses_body(status("w4"))
            assert (await ask(small.url, post(overflowing))).status == 503
        assert [reply.status for reply in await asyncio.gather(*waiting)] == [200] * 3
        assert (await ask(small.url, post(overflowing))).status == 200
        assert await stored(pool) == 4


async def test_bodies_wait_up_to_a_size_and_free_it_when_they_are_stored(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = statuses_body(status("w"))
    monkeypatch.setattr("drumbeat.engine.webhooks.intake.WAITING_BYTES_MAX", len(body))
    async with running(pool) as small:
        assert [(await ask(small.url, post(body))).status for _ in range(3)] == [200] * 3
        assert (await ask(small.url, post(body + b" "))).status == 503
    assert await stored(pool) == 3
