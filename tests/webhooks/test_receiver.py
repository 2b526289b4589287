"""The receiver on the wire: who may speak, what is kept, in which order it answers, and when it says 200."""

import asyncio
import hmac
import re
from urllib.parse import urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Pool, open_pool
from drumbeat.engine.webhooks.receiver import Secrets
from drumbeat.engine.webhooks.signature import sign
from tests.kit.waiting import until
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


async def test_either_of_two_app_secrets_signs_while_one_replaces_the_other(receiver: Running) -> None:
    async def answers(*secrets: bytes) -> list[int]:
        body = statuses_body(status("wamid.1"))
        return [
            (await ask(receiver.url, post(body, signature=sign(body, secret)))).status for secret in secrets
        ]

    verify = SecretStr(TOKEN)
    assert await answers(SECRET, b"next") == [200, 403]
    receiver.receiver.use(Secrets(SecretStr(f"{SECRET.decode()}\nnext"), verify))
    assert await answers(SECRET, b"next", b"other", SECRET + b"\nnext") == [200, 200, 403, 403]
    receiver.receiver.use(Secrets(SecretStr("next"), verify))
    assert await answers(SECRET, b"next") == [403, 200]


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
    """Timing is not reliable on a shared machine. So the test checks that every comparison uses the constant-time call."""
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


async def test_a_part_that_the_store_would_refuse_does_not_block_the_others(receiver: Running) -> None:
    message = {"id": "wamid.in\x00", "from": "55119", "type": "text", "text": {"body": "hello"}}
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
    """As after an hour without a receiver. If it were refused for its size, all of it would be lost in the end."""
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


async def test_what_waits_for_its_commit_is_answered_before_the_receiver_ends(pool: Pool) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("LOCK TABLE inbox_groups IN ACCESS EXCLUSIVE MODE")
        async with running(pool) as started:
            peer = await Peer.connect(started.url)
            await peer.send(post(statuses_body(status("wamid.1"))))
            await until(lambda: started.metrics.waiting)
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
            await until(lambda: started.metrics.waiting)
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
        async with asyncio.timeout(30):
            while (await ask(started.url, get("/readyz"))).status != 503:
                await asyncio.sleep(0)
        assert (await ask(started.url, get("/livez"))).status == 200
        await server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        assert (await ask(started.url, post(statuses_body(status("w2"))))).status == 200
        assert await stored(pool) == 2


async def test_what_stands_beside_the_callback(receiver: Running) -> None:
    assert (await ask(receiver.url, post(statuses_body(status("w"))))).status == 200
    metrics = (await ask(receiver.url, get("/metrics"))).body.decode()
    assert 'drumbeat_callback_answers_total{installation="drumbeat",status="200"} 1' in metrics
    assert 'drumbeat_events_total{installation="drumbeat",kind="status"} 1' in metrics
    families = {family.name: family.type for family in text_string_to_metric_families(metrics)}
    assert families["drumbeat_callback_connections"] == "gauge"
    assert set(families.values()) == {"counter", "gauge", "histogram"}
    again = (await ask(receiver.url, get("/metrics"))).body.decode()
    assert 'drumbeat_callback_answers_total{installation="drumbeat",status="200"} 1' in again, (
        "a scrape is no callback"
    )
    assert (await ask(receiver.url, get("/"))).status == 404
    assert (await ask(receiver.url, post(b"", path="/livez"))).status == 405
    assert (await ask(receiver.url, b"PUT /webhook HTTP/1.1\r\nHost: x\r\n\r\n")).status == 405


async def test_a_port_in_use_is_named(pool: Pool, receiver: Running) -> None:
    from drumbeat.engine.webhooks.receiver import listening

    port = int(receiver.url.split(":")[2].split("/")[0])
    with pytest.raises(ConfigurationError, match=f"port {port} is in use"):
        async with listening(receiver.receiver, receiver.intake, "127.0.0.1", port, pool=pool):
            pass
