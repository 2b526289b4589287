"""Requests that arrive broken, late, split or all at once get a documented answer or a close, never a hang."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import orjson
import pytest

from drumbeat.emulator.gateway import LIMITS
from drumbeat.http_server.connection import HttpConnection
from tests.emulator.conftest import ACCOUNT, NUMBER, Client, template

WAIT_LIMIT_S = 60.0


@contextlib.asynccontextmanager
async def connected(client: Client) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    port = int(client.emulator.url.rsplit(":", 1)[1])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(WAIT_LIMIT_S):
            yield reader, writer
    finally:
        writer.close()


def send_bytes(to: str = "5511987654321", extra: bytes = b"") -> bytes:
    body = orjson.dumps(template(to))
    return (
        b"POST /v22.0/%b/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer emulator-token\r\n%b"
        b"Content-Length: %d\r\n\r\n%b" % (NUMBER.encode(), extra, len(body), body)
    )


async def read_reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return int(head.split()[1]), await reader.readexactly(length)


async def test_a_request_in_single_bytes(client: Client) -> None:
    async with connected(client) as (reader, writer):
        for byte in send_bytes():
            writer.write(bytes([byte]))
            await writer.drain()
        assert (await read_reply(reader))[0] == 200


async def test_pipelined_requests_are_answered_in_order(client: Client) -> None:
    health = b"GET /_emulator/health HTTP/1.1\r\nHost: x\r\n\r\n"
    asked = [f"55119876{number:05d}" for number in range(300)]
    async with connected(client) as (reader, writer):
        writer.write(b"".join(send_bytes(to) + health for to in asked))
        for to in asked:
            status, body = await read_reply(reader)
            assert status == 200
            assert orjson.loads(body)["contacts"][0]["input"] == to
            assert orjson.loads((await read_reply(reader))[1])["status"] == "ok"


async def test_a_head_known_by_heart_still_waits_for_its_whole_body(client: Client) -> None:
    async with connected(client) as (reader, writer):
        for to in ("5511900000001", "5511900000002"):
            writer.write(send_bytes(to))
            assert (await read_reply(reader))[0] == 200
        writer.write(send_bytes("5511900000003")[:-40])
        assert (await client.ask("health"))["accepted"] == 2
        writer.write(send_bytes("5511900000003")[-40:])
        assert (await read_reply(reader))[0] == 200
        writer.write(send_bytes("5511900000004") + send_bytes("5511900000005"))
        for to in ("5511900000004", "5511900000005"):
            assert to.encode() in (await read_reply(reader))[1]


async def test_a_send_does_not_overtake_a_reply_in_the_making(client: Client) -> None:
    question = b"GET /v22.0/%b HTTP/1.1\r\nAuthorization: Bearer emulator-token\r\n\r\n" % ACCOUNT.encode()
    async with connected(client) as (reader, writer):
        writer.write(question + send_bytes())
        assert orjson.loads((await read_reply(reader))[1])["id"] == ACCOUNT
        assert b"wamid" in (await read_reply(reader))[1]


async def test_pipelined_replies_keep_their_order_when_the_first_is_slow(client: Client) -> None:
    await client.control("faults", kind="latency", median_ms=50, count=1)
    async with connected(client) as (reader, writer):
        writer.write(send_bytes("5511900000001") + send_bytes("5511900000002"))
        for to in ("5511900000001", "5511900000002"):
            assert to.encode() in (await read_reply(reader))[1]


async def test_a_half_closed_peer_gets_its_replies(client: Client) -> None:
    await client.control("faults", kind="latency", median_ms=20)
    async with connected(client) as (reader, writer):
        writer.write(send_bytes("5511900000001") + send_bytes("5511900000002"))
        writer.write_eof()
        everything = await reader.read()
        assert everything.count(b"HTTP/1.1 200 OK") == 2


async def test_connection_close_is_kept(client: Client) -> None:
    async with connected(client) as (reader, writer):
        writer.write(send_bytes(extra=b"Connection: close\r\n"))
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")


async def test_expect_100_continue(client: Client) -> None:
    head, body = send_bytes(extra=b"Expect: 100-continue\r\n").split(b"\r\n\r\n")
    async with connected(client) as (reader, writer):
        writer.write(head + b"\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(body)
        assert (await read_reply(reader))[0] == 200


async def test_a_chunked_body_is_read(client: Client) -> None:
    body = orjson.dumps(template())
    head = send_bytes().split(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
    async with connected(client) as (reader, writer):
        writer.write(head + b"".join(b"1\r\n%b\r\n" % bytes([byte]) for byte in body) + b"0\r\n\r\n")
        assert (await read_reply(reader))[0] == 200


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400),
        (b"GET / HTTP/9.9\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"GET /_emulator/health HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", 400),
        (b"GET /%ff%fe HTTP/1.1\r\n\r\n", 400),
        (b"GET /" + b"a" * (LIMITS.head_bytes * 3), 431),
        (b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * LIMITS.head_bytes, 431),
        (b"POST /v22.0/1/register HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n" + b"x" * 2_000_000, 413),
    ],
)
async def test_what_is_no_request_is_answered_and_ended(client: Client, data: bytes, status: int) -> None:
    async with connected(client) as (reader, writer):
        for begin in range(0, len(data), 8192):
            writer.write(data[begin : begin + 8192])
            with contextlib.suppress(ConnectionError):
                await writer.drain()
        answered, body = await read_reply(reader)
        assert answered == status
        assert orjson.loads(body)["error"]["code"] == 100
        assert b"Traceback" not in body
    assert (await client.ask("health"))["status"] == "ok"


async def test_one_connection_too_many_is_ended(client: Client) -> None:
    client.emulator.server.connections_max = 1
    async with connected(client) as (reader, writer):
        await _service_side(client, reader, writer, b"")
        async with connected(client) as (further, _):
            with contextlib.suppress(ConnectionError):
                assert await further.read() == b""
        assert (await _service_side(client, reader, writer, b"")) is not None


async def test_what_stays_unfinished_is_ended(client: Client) -> None:
    async with connected(client) as (reader, writer):
        connection = await _service_side(client, reader, writer, b"POST /v22.0/1/messages HTTP/1.1\r\nConte")
        now = asyncio.get_running_loop().time()
        connection.expire(now)
        connection.expire(now + LIMITS.request_s - 5)
        assert not reader.at_eof()
        connection.expire(now + LIMITS.request_s)
        assert (await read_reply(reader))[0] == 408
        assert await reader.read() == b""


async def test_what_is_idle_is_ended(client: Client) -> None:
    async with connected(client) as (reader, writer):
        connection = await _service_side(client, reader, writer, b"")
        now = asyncio.get_running_loop().time()
        connection.expire(now)
        connection.expire(now + LIMITS.idle_s - 5)
        assert not reader.at_eof()
        connection.expire(now + LIMITS.idle_s)
        assert await reader.read() == b""


async def _service_side(
    client: Client, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, begun: bytes
) -> HttpConnection:
    """The service's end, after it has answered one request and seen what was `begun` behind it."""
    writer.write(b"GET /_emulator/health HTTP/1.1\r\n\r\n" + begun)
    await read_reply(reader)
    return next(iter(client.emulator.server.connections))


async def test_a_fault_of_the_emulator_itself_shows_no_traceback(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(client.emulator.service.numbers[NUMBER].pair.__class__, "admit", broken)
    answer = await client.send(template())
    assert (answer.status, answer.code) == (500, 1)
    assert "secret" not in str(answer.body)
