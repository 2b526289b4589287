"""What every transport keeps, whatever it is built on. A test module of its own names each factory.

The server is real and misbehaves; the judge is what it read: nothing read means NotSent or Unknown, anything
read means never NotSent, and no payload is ever read twice.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

import pytest

from engine.api.transport import Transport
from engine.core.outcome import Accepted, NotSent, Outcome, Rejected, Scope, Throttled, Transient, Unknown

from .loopback import Conversation, Script, Server, free_port, serving

PAYLOAD = b'{"to":"5511999990000","tag":"once"}'
ACCEPTED = b'{"messaging_product":"chat","contacts":[{"wa_id":"5511"}],"messages":[{"id":"wamid.A"}]}'
_STRAYED = ACCEPTED.replace(b"wamid.A", b"wamid.STRAY")
STRAY = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(_STRAYED), _STRAYED)
OPEN = "open"


class Factory(Protocol):
    """Makes a transport to a base address; the limits are seconds, kept short by the tests."""

    def __call__(
        self,
        base_url: str,
        *,
        connections: int = 4,
        connect_s: float = 5,
        reply_s: float = 5,
        total_s: float = 10,
    ) -> Transport: ...


async def open_gate() -> bool:
    return True


async def shut_gate() -> bool:
    return False


async def turns_of_the_loop() -> None:
    """Time enough for whatever is ready on loopback to be read and handled."""
    for _ in range(20):
        await asyncio.sleep(0)


@contextmanager
def no_descriptors() -> Iterator[None]:
    """Nothing more can be opened by this process."""
    limits, taken = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limits[0]), limits[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        yield
    finally:
        for one in taken:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def answering(status: int, body: bytes, *headers: str) -> Script:
    """Answers every request alike and keeps the connection."""

    async def script(server: Server, conversation: Conversation) -> None:
        while await server.read(conversation):
            await conversation.answer(status, body, *headers)

    return script


def writing(raw: bytes, *, reset: bool = False) -> Script:
    """Reads a request, writes these bytes and ends the connection."""

    async def script(server: Server, conversation: Conversation) -> None:
        if await server.read(conversation):
            await conversation.write(raw)
            conversation.reset() if reset else conversation.close()

    return script


async def stalling(server: Server, conversation: Conversation) -> None:
    await server.read(conversation)
    await conversation.closed_by_client()


@asynccontextmanager
async def sending(factory: Factory, script: Script, **limits: Any) -> Any:
    async with serving(script) as server:
        transport = factory(server.base_url, **limits)
        async with aclosing_transport(transport):
            yield server, transport


@asynccontextmanager
async def aclosing_transport(transport: Transport) -> Any:
    try:
        yield transport
    finally:
        await transport.close()


class TransportContract:
    """Subclass it with a fixture `factory`."""

    async def test_a_request_is_the_payload_to_the_numbers_path(self, factory: Factory) -> None:
        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            assert await transport.send("1055", PAYLOAD, open_gate) == Accepted("wamid.A")
        head, body = server.requests[0].split(b"\r\n\r\n")
        assert head.startswith(b"POST /v22.0/1055/messages HTTP/1.1\r\n")
        lines = head.lower().split(b"\r\n")
        assert b"authorization: bearer the-token" in lines
        assert b"content-type: application/json" in lines
        assert body == PAYLOAD

    async def test_a_connection_is_used_again(self, factory: Factory) -> None:
        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            for _ in range(5):
                assert isinstance(await transport.send("1", PAYLOAD, open_gate), Accepted)
        assert (server.connections, len(server.requests)) == (1, 5)

    async def test_a_lack_of_descriptors_is_not_the_services(self, factory: Factory) -> None:
        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            with no_descriptors():
                outcome = await transport.send("1", PAYLOAD, open_gate)
            assert isinstance(outcome, NotSent)
            assert (outcome.unreachable, outcome.exhausted) == (False, True)
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert len(server.requests) == 1

    async def test_a_look_up_that_fails_for_want_of_descriptors_is_not_the_services(
        self, factory: Factory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The system's resolver only says that it failed for now."""

        async def resolve(*_: object, **__: object) -> list[Any]:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

        monkeypatch.setattr(asyncio.get_running_loop().__class__, "getaddrinfo", resolve)
        transport = factory("http://service.example")
        async with aclosing_transport(transport):
            outcome = await transport.send("1", PAYLOAD, open_gate)
            assert isinstance(outcome, NotSent)
            assert (outcome.unreachable, outcome.exhausted) == (True, False)
            with no_descriptors():
                outcome = await transport.send("1", PAYLOAD, open_gate)
            assert isinstance(outcome, NotSent)
            assert (outcome.unreachable, outcome.exhausted) == (False, True)

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
    async def test_a_reply_that_tells_nothing_is_in_doubt(self, factory: Factory, status: int) -> None:
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
    async def test_a_break_after_the_request_is_in_doubt(
        self, factory: Factory, raw: bytes, reset: bool
    ) -> None:
        async with sending(factory, writing(raw, reset=reset)) as (server, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
        assert len(server.requests) == 2

    async def test_an_oversize_reply_is_in_doubt_and_not_read_to_its_end(self, factory: Factory) -> None:
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
        assert chunks * 4096 < 32 * 1024 * 1024  # the buffers of two sockets, not ten seconds of loopback

    @pytest.mark.parametrize("limits", [{"reply_s": 0.05, "total_s": 900}, {"reply_s": 900, "total_s": 0.05}])
    async def test_silence_after_the_request_is_in_doubt(
        self, factory: Factory, limits: dict[str, float]
    ) -> None:
        async with sending(factory, stalling, **limits) as (server, transport):
            assert isinstance(await asyncio.wait_for(transport.send("1", PAYLOAD, open_gate), 20), Unknown)
        assert len(server.requests) == 1

    async def test_bytes_that_drip_end_at_the_total_limit(self, factory: Factory) -> None:
        async def dripping(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n")
            while True:
                await conversation.write(b" ")
                await asyncio.sleep(0.01)

        async with sending(factory, dripping, total_s=0.2) as (_, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)

    async def test_a_post_is_never_repeated_on_a_connection_that_the_server_closed(
        self, factory: Factory
    ) -> None:
        """The server answers once, then reads the next request on the same connection and hangs up."""

        async def once(server: Server, conversation: Conversation) -> None:
            if await server.read(conversation):
                await conversation.answer(200, ACCEPTED)
            await server.read(conversation)

        async with sending(factory, once) as (server, transport):
            assert isinstance(await transport.send("1", b'{"n":1}', open_gate), Accepted)
            assert isinstance(await transport.send("1", b'{"n":2}', open_gate), Unknown)
            assert isinstance(await transport.send("1", b'{"n":3}', open_gate), Accepted)
        bodies = [request.split(b"\r\n\r\n")[1] for request in server.requests]
        assert bodies == [b'{"n":1}', b'{"n":2}', b'{"n":3}']

    async def test_keep_alive_closed_by_the_server_while_idle_loses_and_repeats_nothing(
        self, factory: Factory
    ) -> None:
        async def one_each(server: Server, conversation: Conversation) -> None:
            if await server.read(conversation):
                await conversation.answer(200, ACCEPTED)

        async with sending(factory, one_each) as (server, transport):
            outcomes = [await transport.send("1", b'{"n":%d}' % n, open_gate) for n in range(20)]
        bodies = [request.split(b"\r\n\r\n")[1] for request in server.requests]
        assert len(bodies) == len(set(bodies))
        for n, outcome in enumerate(outcomes):
            assert isinstance(outcome, Accepted | Unknown | NotSent)
            if isinstance(outcome, NotSent):
                assert b'{"n":%d}' % n not in bodies
            if isinstance(outcome, Accepted):
                assert b'{"n":%d}' % n in bodies

    async def test_nobody_listening_is_not_sent(self, factory: Factory) -> None:
        async with aclosing_transport(factory(f"http://127.0.0.1:{free_port()}")) as transport:
            outcome = await transport.send("1", PAYLOAD, open_gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable

    async def test_a_name_that_nobody_knows_is_not_sent(self, factory: Factory) -> None:
        async with aclosing_transport(factory("http://nobody.invalid")) as transport:
            outcome = await transport.send("1", PAYLOAD, open_gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable

    async def test_a_failed_handshake_is_not_sent(self, factory: Factory) -> None:
        async def plain(server: Server, conversation: Conversation) -> None:
            await conversation.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await conversation.closed_by_client()

        async with serving(plain) as server:
            base_url = server.base_url.replace("http:", "https:")
            async with aclosing_transport(factory(base_url)) as transport:
                outcome = await transport.send("1", PAYLOAD, open_gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable

    async def test_waiting_too_long_for_a_connection_is_not_sent(self, factory: Factory) -> None:
        async with sending(factory, stalling, connections=1, connect_s=0.05) as (server, transport):
            first = asyncio.create_task(transport.send("1", PAYLOAD, open_gate))
            await server.received.wait()
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), NotSent)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        assert len(server.requests) == 1

    async def test_whoever_waits_for_a_connection_gets_one_though_many_are_free_at_once(
        self, factory: Factory
    ) -> None:
        """One was given back to the pool, and the others kept for newcomers, who did not come."""
        together = asyncio.Barrier(4)

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await together.wait()
                await conversation.answer(200, ACCEPTED)

        async with sending(factory, script, connections=4, connect_s=10) as (_, transport):
            sends = (transport.send("1", PAYLOAD, open_gate) for _ in range(16))
            assert set(await asyncio.gather(*sends)) == {Accepted("wamid.A")}

    async def test_a_shut_gate_writes_nothing(self, factory: Factory) -> None:
        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            assert await transport.send("1", PAYLOAD, shut_gate) == NotSent("permit expired")
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert len(server.requests) == 1

    async def test_the_gate_is_asked_once_with_a_connection_in_hand_and_nothing_written(
        self, factory: Factory
    ) -> None:
        connected, at_gate, release = asyncio.Event(), asyncio.Event(), asyncio.Event()
        received: list[bytes] = []
        asked: list[str] = []

        async def script(server: Server, conversation: Conversation) -> None:
            connected.set()
            received.append(await conversation.request())
            await conversation.answer(200, ACCEPTED)

        async def gate() -> bool:
            await connected.wait()
            asked.append(OPEN)
            at_gate.set()
            await release.wait()
            return True

        async with sending(factory, script) as (_, transport):
            sent = asyncio.create_task(transport.send("1", PAYLOAD, gate))
            await at_gate.wait()
            await turns_of_the_loop()
            assert received == []
            release.set()
            assert await sent == Accepted("wamid.A")
        assert asked == [OPEN]
        assert len(received) == 1

    async def test_a_gate_is_not_asked_without_a_connection(self, factory: Factory) -> None:
        asked: list[str] = []

        async def gate() -> bool:
            asked.append(OPEN)
            return True

        async with aclosing_transport(factory(f"http://127.0.0.1:{free_port()}")) as transport:
            await transport.send("1", PAYLOAD, gate)
        assert asked == []

    @pytest.mark.parametrize("reset", [False, True])
    async def test_a_connection_lost_at_the_gate_is_not_sent(self, factory: Factory, reset: bool) -> None:
        at_gate, gone = asyncio.Event(), asyncio.Event()

        async def script(server: Server, conversation: Conversation) -> None:
            await at_gate.wait()
            conversation.reset() if reset else conversation.close()

        async def gate() -> bool:
            at_gate.set()
            await gone.wait()
            return True

        async with sending(factory, script) as (server, transport):
            outcome = await asyncio.wait_for(transport.send("1", PAYLOAD, gate), 10)
            gone.set()
            await asyncio.sleep(0)
        assert isinstance(outcome, NotSent)
        assert server.requests == []

    async def test_an_answer_to_nothing_is_not_taken_for_ours(self, factory: Factory) -> None:
        answered = asyncio.Event()

        async def eager(server: Server, conversation: Conversation) -> None:
            await conversation.answer(200, ACCEPTED)
            answered.set()
            await server.read(conversation)

        async def gate() -> bool:
            await answered.wait()
            await turns_of_the_loop()
            return True

        async with sending(factory, eager) as (server, transport):
            outcome = await transport.send("1", PAYLOAD, gate)
        assert isinstance(outcome, NotSent)
        assert server.requests == []

    async def test_a_second_answer_on_an_idle_connection_is_not_taken_for_the_next_request(
        self, factory: Factory
    ) -> None:
        first_done, doubled = asyncio.Event(), asyncio.Event()

        async def twice(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.answer(200, ACCEPTED)
                await first_done.wait()
                await conversation.answer(200, ACCEPTED.replace(b"wamid.A", b"wamid.STRAY"))
                doubled.set()

        async with sending(factory, twice) as (_, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            first_done.set()
            await doubled.wait()
            await turns_of_the_loop()
            assert await transport.send("1", PAYLOAD, open_gate) != Accepted("wamid.STRAY")

    @pytest.mark.parametrize("cut", [1, 20, -20])
    async def test_an_answer_that_began_before_the_request_is_not_taken_for_its_reply(
        self, factory: Factory, cut: int
    ) -> None:
        began = asyncio.Event()

        async def eager(server: Server, conversation: Conversation) -> None:
            await conversation.write(STRAY[:cut])
            began.set()
            await server.read(conversation)
            await conversation.write(STRAY[cut:])
            await conversation.closed_by_client()

        async def gate() -> bool:
            await began.wait()
            await turns_of_the_loop()
            return True

        async with sending(factory, eager) as (server, transport):
            outcome = await transport.send("1", PAYLOAD, gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable
        assert server.requests == []

    @pytest.mark.parametrize(
        "more",
        [
            b"\r\n",
            b"x",
            STRAY[:20],
            STRAY[:-1],
            STRAY,
            b"HTTP/1.1 100 Continue\r\n",
            b"HTTP/1.1 100 Go\r\n\r\n",
        ],
    )
    async def test_whatever_comes_on_an_idle_connection_ends_it(self, factory: Factory, more: bytes) -> None:
        idle, came = asyncio.Event(), asyncio.Event()

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                if len(server.requests) == 2:
                    await conversation.write(b"\r\n" + STRAY)
                await conversation.answer(200, ACCEPTED)
                await idle.wait()
                if len(server.requests) == 1:
                    await conversation.write(more)
                    came.set()

        async with sending(factory, script) as (server, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            idle.set()
            await came.wait()
            await turns_of_the_loop()
            await transport.send("1", PAYLOAD, open_gate)
        assert (server.connections, len(server.requests)) == (2, 2)

    @pytest.mark.parametrize("cut", [0, 10, -1])
    @pytest.mark.parametrize("more", [b"HTTP/1.1 429 Slow\r\nX: ", STRAY[:-1], STRAY])
    async def test_more_behind_a_reply_is_no_part_of_the_next(
        self, factory: Factory, more: bytes, cut: int
    ) -> None:
        """The reply's own empty line stands where its head would end if the rest were its body."""
        body = b" " * (len(more) - 4) + b"\r\n\r\n" + ACCEPTED
        reply = b"HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        told_nothing = b"HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: 60\r\n\r\n{}" + b" " * 58

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                if len(server.requests) > 1:
                    await conversation.write(told_nothing)
                    continue
                await conversation.write(reply[:cut])
                await turns_of_the_loop()
                await conversation.write(reply[cut:] + more)

        async with sending(factory, script) as (server, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            await turns_of_the_loop()
            outcome = await transport.send("1", PAYLOAD, open_gate)
            assert outcome == Unknown("HTTP 200 without the name of a message")
        assert server.connections == 2

    async def test_half_a_refusal_that_a_reset_ends_is_in_doubt(self, factory: Factory) -> None:
        """Without a length only the end of the connection says where the body ends, and it may go on."""

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
    async def test_a_reply_that_only_began_ends_at_the_limit_of_replies(
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
    async def test_a_head_with_too_many_lines_is_in_doubt(self, factory: Factory, pieces: int) -> None:
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

    async def test_what_the_gate_raises_is_raised_and_nothing_written(self, factory: Factory) -> None:
        async def broken() -> bool:
            raise LookupError("the claim is gone")

        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            with pytest.raises(LookupError, match="the claim is gone"):
                await transport.send("1", PAYLOAD, broken)
        assert server.requests == []

    async def test_a_cancelled_gate_is_not_sent(self, factory: Factory) -> None:
        async def cancelled() -> bool:
            raise asyncio.CancelledError

        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            outcome = await asyncio.wait_for(transport.send("1", PAYLOAD, cancelled), 10)
        assert isinstance(outcome, NotSent)
        assert server.requests == []

    async def test_a_send_cancelled_at_the_gate_never_writes(self, factory: Factory) -> None:
        at_gate, release = asyncio.Event(), asyncio.Event()

        async def gate() -> bool:
            at_gate.set()
            await release.wait()
            return True

        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            sent = asyncio.create_task(transport.send("1", PAYLOAD, gate))
            await at_gate.wait()
            sent.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sent
            release.set()
            assert await transport.send("2", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert len(server.requests) == 1
        assert b"/2/messages" in server.requests[0]

    async def test_the_write_follows_the_gate_before_anything_else_runs(self, factory: Factory) -> None:
        """A callback queued by the gate's last step finds the request at the server's socket already."""
        seen: list[bool] = []
        talks: list[Conversation] = []

        async def script(server: Server, conversation: Conversation) -> None:
            talks.append(conversation)
            while await server.read(conversation):
                await conversation.answer(200, ACCEPTED)

        def look() -> None:
            seen.append(PAYLOAD in talks[0].arrived())
            talks[0].resume()

        async def gate() -> bool:
            talks[0].hold()
            asyncio.get_running_loop().call_soon(look)
            return True

        async with sending(factory, script) as (_, transport):
            await transport.send("1", PAYLOAD, open_gate)
            await transport.send("1", PAYLOAD, gate)
        assert seen == [True]

    async def test_after_close_nothing_is_sent(self, factory: Factory) -> None:
        async with serving(answering(200, ACCEPTED)) as server:
            transport = factory(server.base_url)
            await transport.close()
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), NotSent)
        assert server.requests == []

    async def test_closing_ends_a_wait_for_a_connection_with_an_outcome(self, factory: Factory) -> None:
        """The pool cancels whoever waits in it; that is no cancellation of the one who sends."""
        async with sending(factory, stalling, connections=1) as (server, transport):
            sends = [asyncio.create_task(transport.send("1", PAYLOAD, open_gate)) for _ in range(3)]
            await server.received.wait()
            await transport.close()
            outcomes = await asyncio.wait_for(asyncio.gather(*sends), 20)
        waited = [outcome for outcome in outcomes if isinstance(outcome, NotSent)]
        assert len(waited) == 2
        assert all(outcome.unreachable for outcome in waited)
        assert len(server.requests) == 1
