"""The outcome of a reply, or of a missing reply."""

from __future__ import annotations

import asyncio

import pytest

from drumbeat.engine.core.outcome import Accepted, Outcome, Rejected, Scope, Throttled, Transient, Unknown

from .loopback import Conversation, Server
from .transports import (
    ACCEPTED,
    PAYLOAD,
    Factory,
    answering,
    open_gate,
    sending,
    stalling,
    turns_of_the_loop,
    writing,
)


class RepliesContract:
    """A part of `TransportContract`."""

    async def test_a_request_posts_the_payload_to_the_path_of_its_number(self, factory: Factory) -> None:
        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            assert await transport.send("1055", PAYLOAD, open_gate) == Accepted("wamid.A")
        head, body = server.requests[0].split(b"\r\n\r\n")
        assert head.startswith(b"POST /v22.0/1055/messages HTTP/1.1\r\n")
        lines = head.lower().split(b"\r\n")
        assert b"authorization: bearer the-token" in lines
        assert b"content-type: application/json" in lines
        assert body == PAYLOAD

    @pytest.mark.parametrize(
        ("status", "body", "headers", "expected"),
        [
            (
                400,
                b'{"error":{"code":131026,"message":"m","error_data":{"details":"d"}}}',
                (),
                Rejected(Scope.RECIPIENT, 131026, "131026", "d"),
            ),
            (
                429,
                b'{"error":{"code":130429,"message":"m"}}',
                ("Retry-After: 7",),
                Throttled(Scope.NUMBER, 130429, 7.0, "m"),
            ),
            (503, b'{"error":{"code":131016,"message":"m"}}', (), Transient(131016, "m")),
            (
                503,
                b'{"error":{"code":131016}}',
                ("Retry-After: 120",),
                Transient(131016, '{"error":{"code":131016}}', 120.0),
            ),
            (401, b"<html>no</html>", (), Rejected(Scope.ACCOUNT, None, "http_401", "<html>no</html>")),
        ],
    )
    async def test_refusals_are_classified(
        self, factory: Factory, status: int, body: bytes, headers: tuple[str, ...], expected: Outcome
    ) -> None:
        async with sending(factory, answering(status, body, *headers)) as (_, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == expected

    @pytest.mark.parametrize("status", [200, 202, 500, 502])
    async def test_a_reply_without_a_result_is_in_doubt(self, factory: Factory, status: int) -> None:
        async with sending(factory, answering(status, b"{}")) as (server, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
        assert len(server.requests) == 1

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_a_redirect_is_not_followed(self, factory: Factory, status: int) -> None:
        async with sending(factory, answering(status, b"", "Location: /v22.0/1/messages")) as (
            server,
            transport,
        ):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
        assert len(server.requests) == 1

    async def test_a_chunked_reply_is_read(self, factory: Factory) -> None:
        half = len(ACCEPTED) // 2
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (ACCEPTED[:half], ACCEPTED[half:]))
        raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
        async with sending(factory, writing(raw)) as (_, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")

    @pytest.mark.parametrize(
        "raw",
        [
            b"",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + ACCEPTED,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
            b"\x00\xff\x16\x03\x01" * 50,
            b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\nContent-Length: 0\r\n\r\n",
        ],
        ids=["nothing", "half a head", "half a body", "bad chunk", "other protocol", "garbage", "huge head"],
    )
    @pytest.mark.parametrize("reset", [False, True])
    async def test_a_connection_that_breaks_after_the_request_is_in_doubt(
        self, factory: Factory, raw: bytes, reset: bool
    ) -> None:
        async with sending(factory, writing(raw, reset=reset)) as (server, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
        assert len(server.requests) == 2

    async def test_an_oversized_reply_is_in_doubt_and_not_read_to_its_end(self, factory: Factory) -> None:
        stopped = asyncio.Event()
        chunks = 0

        async def endless(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            nonlocal chunks
            try:
                while True:
                    await conversation.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")
                    chunks += 1
            except ConnectionError:
                stopped.set()

        async with sending(factory, endless) as (_, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
            await asyncio.wait_for(stopped.wait(), 10)
        assert (
            chunks * 4096 < 32 * 1024 * 1024
        )  # the buffers of two sockets, not what loopback carries in ten seconds

    @pytest.mark.parametrize("limits", [{"reply_s": 0.05, "total_s": 900}, {"reply_s": 900, "total_s": 0.05}])
    async def test_a_request_without_a_reply_is_in_doubt(
        self, factory: Factory, limits: dict[str, float]
    ) -> None:
        async with sending(factory, stalling, **limits) as (server, transport):
            assert isinstance(await asyncio.wait_for(transport.send("1", PAYLOAD, open_gate), 20), Unknown)
        assert len(server.requests) == 1

    async def test_a_reply_that_arrives_byte_by_byte_ends_at_the_total_limit(self, factory: Factory) -> None:
        async def dripping(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n")
            while True:
                await conversation.write(b" ")
                await asyncio.sleep(0.01)

        async with sending(factory, dripping, total_s=0.2) as (_, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)

    async def test_a_refusal_cut_off_by_a_reset_is_in_doubt(self, factory: Factory) -> None:
        """Without a length, only a clean end of the connection ends the body. After a reset, more may be missing."""

        async def script(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(b"HTTP/1.1 400 Bad\r\n\r\n<html>")
            await turns_of_the_loop()
            conversation.reset()

        async with sending(factory, script) as (_, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)

    @pytest.mark.parametrize(
        ("began", "drop"),
        [(b"HTTP/1.1 100 Continue\r\n\r\n", b""), (b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", b" ")],
        ids=["interim", "dripping"],
    )
    async def test_an_unfinished_reply_ends_at_the_reply_limit(
        self, factory: Factory, began: bytes, drop: bytes
    ) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(began)
            while drop:
                await conversation.write(drop)
                await asyncio.sleep(0.01)
            await conversation.closed_by_client()

        async with sending(factory, script, reply_s=0.2, total_s=900) as (_, transport):
            outcome = await asyncio.wait_for(transport.send("1", PAYLOAD, open_gate), 20)
        assert isinstance(outcome, Unknown)

    @pytest.mark.parametrize("pieces", [1, 2])
    async def test_a_head_with_too_many_headers_is_in_doubt(self, factory: Factory, pieces: int) -> None:
        lines = b"".join(b"X-%d: 1\r\n" % n for n in range(200))
        raw = b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (lines, len(ACCEPTED), ACCEPTED)

        async def script(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            for n in range(pieces):
                await conversation.write(raw[n * len(raw) // pieces : (n + 1) * len(raw) // pieces])
                await turns_of_the_loop()
            await conversation.closed_by_client()

        async with sending(factory, script) as (_, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
