"""The receiver on the wire: who may speak, what is kept, in which order it answers, and what it bears."""

import asyncio
import hmac
import re
import tracemalloc
from collections import Counter
from typing import cast
from urllib.parse import urlsplit

import pytest

from engine.errors import ConfigurationError
from engine.store.database import Pool, open_pool
from engine.webhooks.http import Answer, HttpConnection, Limits, Places
from engine.webhooks.signature import sign
from tests.webhooks.conftest import Running, running
from tests.webhooks.conversation import (
    SECRET,
    TOKEN,
    Peer,
    ask,
    change_body,
    get,
    post,
    status,
    statuses_body,
)


async def stored(pool: Pool, table: str = "waiting_events") -> int:
    count: int = await pool.fetchval(f"SELECT count(*) FROM {table}")
    return count


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (
            f"hub.mode=subscribe&hub.verify_token={TOKEN.replace(' ', '%20')}&hub.challenge=158%2031",
            (200, b"158 31"),
        ),
        (f"hub.mode=subscribe&hub.verify_token={TOKEN.replace(' ', '+')}", (200, b"")),
        ("hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1", (403, b"")),
        (f"hub.mode=other&hub.verify_token={TOKEN.replace(' ', '+')}&hub.challenge=1", (403, b"")),
        ("hub.challenge=1", (403, b"")),
        ("", (403, b"")),
        ("&".join(f"a{n}=1" for n in range(100)), (403, b"")),
    ],
)
async def test_the_handshake_answers_only_who_knows_the_token(
    receiver: Running, query: str, answer: tuple[int, bytes]
) -> None:
    reply = await ask(receiver.url, get(f"/webhook?{query}"))
    assert (reply.status, reply.body) == answer


async def test_signed_events_are_stored_when_200_is_read(receiver: Running) -> None:
    body = statuses_body(status("wamid.1"), status("wamid.2", "read"))
    assert (await ask(receiver.url, post(body))).status == 200
    assert await stored(receiver.pool) == 2
    row = await receiver.pool.fetchrow("SELECT * FROM waiting_events ORDER BY wamid")
    assert (row["wamid"], row["status"], row["recipient"]) == ("wamid.1", 2, "5511912345678")
    flowed = await receiver.pool.fetchval(
        "SELECT now() - last_event_at < interval '1 minute' FROM event_flow"
    )
    assert flowed


GENUINE = statuses_body(status("wamid.1"))


@pytest.mark.parametrize(
    ("body", "signature"),
    [
        (GENUINE, None),
        (GENUINE, ""[:0] + "sha256="),
        (GENUINE, "sha256=" + "0" * 64),
        (GENUINE, sign(GENUINE, b"another secret")),
        (GENUINE, sign(GENUINE, SECRET).upper()),
        (GENUINE, sign(GENUINE, SECRET)[7:]),
        (GENUINE.replace(b"wamid.1", b"wamid.9"), sign(GENUINE, SECRET)),
        (GENUINE + b" ", sign(GENUINE, SECRET)),
        (b"", None),
    ],
)
async def test_what_is_not_signed_by_the_service_is_refused_without_a_word(
    receiver: Running, body: bytes, signature: str | None
) -> None:
    reply = await ask(receiver.url, post(body, signature=signature))
    assert (reply.status, reply.body) == (403, b"")
    assert await stored(receiver.pool) == 0


async def test_secrets_are_compared_in_constant_time(
    receiver: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time shows nothing reliably on a shared machine: whatever is compared goes through the one safe call."""
    compared: list[bytes] = []

    def compare(left: bytes, right: bytes) -> bool:
        compared.extend((left, right))
        return False

    monkeypatch.setattr(hmac, "compare_digest", compare)
    genuine = await ask(receiver.url, post(GENUINE))
    known = await ask(receiver.url, get("/webhook?hub.mode=subscribe&hub.verify_token=verify+me"))
    assert (genuine.status, known.status) == (403, 403), "no other comparison decides"
    assert compared == [sign(GENUINE, SECRET).encode()] * 2 + [TOKEN.encode()] * 2


async def test_a_forged_an_unsigned_and_a_changed_body_are_refused_alike(receiver: Running) -> None:
    changed = GENUINE.replace(b"wamid.1", b"wamid.9")
    assert (await ask(receiver.url, post(GENUINE))).status == 200
    requests = [
        post(changed, signature=sign(GENUINE, SECRET)),
        post(changed, signature=None),
        post(GENUINE, signature=sign(GENUINE, b"another secret")),
        post(b"no json", signature="nonsense"),
    ]
    replies = [await ask(receiver.url, request) for request in requests]
    assert replies == [replies[0]] * len(requests), "status, every header and the body"
    assert replies[0].status == 403
    assert await stored(receiver.pool) == 1


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b'{"object":"other_account"}', b"\xff\xfe"])
async def test_what_is_signed_but_unreadable_is_kept(receiver: Running, body: bytes) -> None:
    assert (await ask(receiver.url, post(body))).status == 200
    assert await receiver.pool.fetchval("SELECT body FROM unreadable_events") == body


async def test_a_text_that_the_store_refuses_does_not_block_the_others(receiver: Running) -> None:
    message = {"id": "wamid.in", "from": "55119", "type": "text", "text": {"body": "nul \x00 inside"}}
    value = {"messages": [message], "statuses": [status("wamid.1\x00")]}
    bodies = [change_body("messages", value), statuses_body(status("wamid.2"))]
    replies = await asyncio.gather(*(ask(receiver.url, post(body)) for body in bodies))
    assert [reply.status for reply in replies] == [200, 200]
    assert await stored(receiver.pool) == 1
    assert await stored(receiver.pool, "unreadable_events") == 2


async def test_a_thousand_updates_in_one_body(receiver: Running) -> None:
    body = statuses_body(
        *(status(f"wamid.{'x' * 60}.{n}", conversation={"id": "y" * 32}) for n in range(1000))
    )
    assert (await ask(receiver.url, post(body))).status == 200
    assert await stored(receiver.pool) == 1000


async def test_a_thousand_long_messages_in_one_body(receiver: Running) -> None:
    """As after an hour in which nobody received. Refused for its size, all of it would be lost in the end."""
    text = {"body": "ж" * 4096}
    messages = [
        {"id": f"wamid.{n}", "from": "5511912345678", "type": "text", "text": text} for n in range(1000)
    ]
    body = change_body("messages", {"messages": messages, "statuses": [status("wamid.1")]})
    assert len(body) > 8_000_000
    assert (await ask(receiver.url, post(body))).status == 200
    assert await stored(receiver.pool, "incoming_messages") == 1000
    assert await stored(receiver.pool) == 1


async def test_incoming_messages_repeat_without_effect(receiver: Running) -> None:
    message = {"id": "wamid.in", "from": "5511912345678", "timestamp": "1780000000", "type": "text"}
    body = change_body("messages", {"messages": [message | {"text": {"body": "olá"}}]})
    for _ in range(2):
        assert (await ask(receiver.url, post(body))).status == 200
    row = await receiver.pool.fetchrow("SELECT sender, type, body FROM incoming_messages")
    assert (row["sender"], row["type"], row["body"]["text"]["body"]) == ("5511912345678", "text", "olá")


async def test_answers_keep_the_order_of_pipelined_requests(receiver: Running) -> None:
    peer = await Peer.connect(receiver.url)
    bodies = [statuses_body(status(f"wamid.{n}")) for n in range(200)]
    wanted: list[int] = []
    requests = []
    for n, body in enumerate(bodies):
        requests += [post(body), get("/livez"), post(body, signature=None)] if n % 3 == 0 else [post(body)]
        wanted += [200, 200, 403] if n % 3 == 0 else [200]
    sending = asyncio.create_task(peer.send(b"".join(requests)))
    assert [(await peer.reply()).status for _ in wanted] == wanted
    await sending
    peer.close()
    assert await stored(receiver.pool) == 200


async def test_a_request_in_small_pieces_and_another_after_it(receiver: Running) -> None:
    peer = await Peer.connect(receiver.url)
    for n in range(2):
        for byte in re.findall(rb"(?s).{1,7}", post(statuses_body(status(f"wamid.{n}")))):
            await peer.send(byte)
        assert (await peer.reply()).status == 200
    peer.close()


async def test_a_chunked_body_and_a_continue(receiver: Running) -> None:
    body = statuses_body(status("wamid.1"))
    head = (
        "POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n"
        f"x-hub-signature-256: {sign(body, SECRET)}\r\n\r\n"
    )
    peer = await Peer.connect(receiver.url)
    await peer.send(head.encode())
    assert (await peer.reply()).status == 100
    half = len(body) // 2
    for part in (body[:half], body[half:], b""):
        await peer.send(f"{len(part):x}\r\n".encode() + part + b"\r\n")
    assert (await peer.reply()).status == 200
    peer.close()


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


def held_bytes(begin: bytes, more: bytes, times: int) -> tuple[int, bytes]:
    """What the memory holds of a body that is not whole, and what was answered."""
    peer = Written()
    connection = HttpConnection(
        lambda slot, *_: slot.fill(Answer(200)), Limits(), Places(0), lambda _: None, Counter()
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
        peers.pop().writer.close()
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


async def test_what_waits_for_its_commit_is_answered_before_the_receiver_ends(pool: Pool) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("LOCK TABLE inbox_groups IN ACCESS EXCLUSIVE MODE")
        async with running(pool) as started:
            peer = await Peer.connect(started.url)
            await peer.send(post(statuses_body(status("wamid.1"))))
            while not started.metrics.waiting:
                await asyncio.sleep(0)
            asyncio.get_running_loop().call_later(0.2, asyncio.create_task, transaction.rollback())
        assert (await peer.reply()).status == 200
        peer.close()
    assert await stored(pool) == 1


async def test_a_peer_that_has_said_all_is_still_answered(receiver: Running) -> None:
    peer = await Peer.connect(receiver.url)
    await peer.send(post(statuses_body(status("wamid.1"))))
    peer.writer.write_eof()
    assert (await peer.reply()).status == 200
    peer.close()


async def test_200_is_never_read_before_the_commit(pool: Pool) -> None:
    async with running(pool) as started:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE inbox_groups IN ACCESS EXCLUSIVE MODE")
            peer = await Peer.connect(started.url)
            await peer.send(post(statuses_body(status("wamid.1"))))
            while not started.metrics.waiting:
                await asyncio.sleep(0)
            reply = asyncio.create_task(peer.reply())
            done, _ = await asyncio.wait([reply], timeout=0.3)
            assert not done
        assert (await reply).status == 200
        peer.close()


async def test_a_commit_that_takes_too_long_is_503(pool: Pool) -> None:
    async with running(pool, commit_timeout_s=0.2) as started:
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("LOCK TABLE inbox_groups IN ACCESS EXCLUSIVE MODE")
            assert (await ask(started.url, post(statuses_body(status("w"))))).status == 503
        assert (await ask(started.url, post(statuses_body(status("w"))))).status == 200


async def test_database_away_is_503_and_recovers(server_url: str, database_url: str) -> None:
    name = urlsplit(database_url).path[1:]
    async with (
        open_pool(database_url, size=3) as pool,
        open_pool(server_url, size=1) as server,
        running(pool) as started,
    ):
        assert (await ask(started.url, post(statuses_body(status("w1"))))).status == 200
        await server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        await server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
        )
        assert (await ask(started.url, post(statuses_body(status("w2"))))).status == 503
        while (await ask(started.url, get("/readyz"))).status != 503:
            await asyncio.sleep(0)
        assert (await ask(started.url, get("/livez"))).status == 200
        await server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert (await ask(started.url, post(statuses_body(status("w2"))))).status == 200
        assert await stored(pool) == 2


async def test_what_stands_beside_the_callback(receiver: Running) -> None:
    assert (await ask(receiver.url, post(statuses_body(status("w"))))).status == 200
    metrics = (await ask(receiver.url, get("/metrics"))).body.decode()
    assert 'drumbeat_webhook_answers_total{status="200"} 1' in metrics
    assert 'drumbeat_webhook_events_total{kind="status"} 1' in metrics
    for line in metrics.splitlines():
        assert re.fullmatch(r'# TYPE \w+ (counter|gauge)|\w+(\{\w+="\w+"\})? \d+', line), line
    assert (await ask(receiver.url, get("/"))).status == 404
    assert (await ask(receiver.url, post(b"", path="/livez"))).status == 405
    assert (await ask(receiver.url, b"PUT /webhook HTTP/1.1\r\nHost: x\r\n\r\n")).status == 405


async def test_a_port_in_use_is_named(pool: Pool, receiver: Running) -> None:
    from engine.webhooks.receiver import listening

    port = int(receiver.url.split(":")[2].split("/")[0])
    with pytest.raises(ConfigurationError, match=f"port {port} is in use"):
        async with listening(receiver.receiver, receiver.intake, "127.0.0.1", port):
            pass
