"""The contract of every transport, kept by lanes; their connections; and what they rely on in aiohttp."""

from __future__ import annotations

import asyncio
import gc
import gzip
import inspect
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.http import HttpResponseParser
from aiohttp.streams import StreamReader
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from engine.api import lanes as lanes_module
from engine.api.lane_connection import Lane, plain_body
from engine.api.lanes import CONNECT_ROUNDS, LaneTransport
from engine.api.reply import BODY_BYTES_MAX
from engine.api.session import SessionTransport
from engine.api.transport import Gate, Transport
from engine.app import transport_of
from engine.core.outcome import Accepted, NotSent, Outcome, Unknown
from engine.settings import ServiceSettings

from .loopback import Conversation, Server, serving
from .transport_contract import (
    ACCEPTED,
    PAYLOAD,
    Factory,
    TransportContract,
    aclosing_transport,
    answering,
    open_gate,
    sending,
    shut_gate,
    stalling,
    turns_of_the_loop,
)


def lane_transport(
    base_url: str, *, connections: int = 4, connect_s: float = 5, reply_s: float = 5, total_s: float = 10
) -> Transport:
    return LaneTransport(
        base_url, "the-token", connections=connections, connect_s=connect_s, reply_s=reply_s, total_s=total_s
    )


class TestLaneTransport(TransportContract):
    @pytest.fixture
    def factory(self) -> Factory:
        return lane_transport


class ShortWay:
    """Writes to a free connection, which a message that stops at its gate has opened before."""

    def __init__(self, base_url: str, **limits: Any) -> None:
        self._transport = lane_transport(base_url, **limits)
        self.close = self._transport.close
        self.free_connection = self._transport.free_connection

    async def send(self, phone_number_id: str, payload: bytes, gate: Gate) -> Outcome:
        unopened = await self._transport.send(phone_number_id, payload, shut_gate)
        if isinstance(unopened, NotSent) and (unopened.unreachable or unopened.exhausted):
            return unopened
        if not await gate():
            return NotSent("permit expired")
        connection = self.free_connection()
        if connection is None:
            return NotSent("closed meanwhile", unreachable=True)
        reply: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        connection.write(phone_number_id, payload, reply.set_result)
        try:
            return await asyncio.shield(reply)
        except asyncio.CancelledError:
            connection.drop("cancelled")
            assert isinstance(reply.result(), Unknown)
            raise


class TestShortWay(TransportContract):
    """The same contract without the tests of a gate that waits, since a permit is taken without a wait, and of
    a pool that is full: what was opened may be somebody else's then.
    """

    test_a_connection_lost_at_the_gate_is_not_sent = None
    test_a_cancelled_gate_is_not_sent = None
    test_whoever_waits_for_a_connection_gets_one_though_many_are_free_at_once = None

    @pytest.fixture
    def factory(self) -> Factory:
        return ShortWay


@asynccontextmanager
async def lanes(base_url: str, **options: Any) -> AsyncIterator[LaneTransport]:
    transport = LaneTransport(base_url, "the-token", **options)
    try:
        yield transport
    finally:
        await transport.close()


class TestConnections:
    async def test_a_lane_that_was_unused_for_too_long_is_not_written_to(self) -> None:
        closed = asyncio.Event()

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.answer(200, ACCEPTED)
            closed.set()

        async with (
            serving(script) as server,
            lanes(server.base_url, keepalive_s=0.02) as transport,
        ):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            await asyncio.wait_for(closed.wait(), 10)  # by the sweep: nobody asked for a lane meanwhile
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 2

    async def test_only_an_exchange_keeps_a_lane_alive(self) -> None:
        """The server counts from the last request that it saw."""
        async with sending(lane_transport, answering(200, ACCEPTED)) as (server, transport):
            await transport.send("1", PAYLOAD, open_gate)
            lane = transport.free_connection()
            kept_until_s = lane.deadline_s
            lane.put_back()
            assert lane.deadline_s == kept_until_s
            assert await transport.send("1", PAYLOAD, shut_gate) == NotSent("permit expired")
            assert lane.deadline_s == kept_until_s
            await transport.send("1", PAYLOAD, open_gate)
            assert lane.deadline_s > kept_until_s
        assert server.connections == 1

    async def test_who_waits_for_a_place_gets_the_next_free_connection(self) -> None:
        answer = asyncio.Event()

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await answer.wait()
                await conversation.answer(200, ACCEPTED)

        async with serving(script) as server, lanes(server.base_url, connections=1) as transport:
            sends = [asyncio.create_task(transport.send(str(n), PAYLOAD, open_gate)) for n in range(5)]
            await server.received.wait()
            answer.set()
            assert await asyncio.gather(*sends) == [Accepted("wamid.A")] * 5
        assert (server.connections, len(server.requests)) == (1, 5)

    async def test_a_reply_that_ends_the_connection_ends_the_lane(self) -> None:
        async with sending(lane_transport, answering(200, ACCEPTED, "Connection: close")) as (
            server,
            transport,
        ):
            for _ in range(3):
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
                assert "idle=0" in repr(transport)
        assert server.connections == 3

    async def test_a_body_without_a_length_ends_with_its_connection(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            if await server.read(conversation):
                await conversation.write(b"HTTP/1.1 200 OK\r\n\r\n" + ACCEPTED)
                conversation.close()

        async with sending(lane_transport, script) as (_, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")

    async def test_a_hundred_continue_is_not_the_reply(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                await conversation.answer(200, ACCEPTED)

        async with sending(lane_transport, script) as (server, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 1

    async def test_two_replies_to_one_request_end_the_connection(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.write(2 * (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))

        async with sending(lane_transport, script) as (server, transport):
            for _ in range(2):
                assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
        assert server.connections == 2

    async def test_half_an_answer_to_nothing_ends_a_lane_that_was_given_back(self) -> None:
        idle, strayed = asyncio.Event(), asyncio.Event()

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.answer(200, ACCEPTED)
                await idle.wait()
                await conversation.write(b"\r\n")
                strayed.set()

        async with sending(lane_transport, script) as (server, transport):
            await transport.send("1", PAYLOAD, open_gate)
            lane = transport.free_connection()
            transport._lanes.discard(lane)
            lane.give_back()
            idle.set()
            await strayed.wait()
            await turns_of_the_loop()
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 2

    async def test_a_service_that_speaks_first_is_not_connected_to_again_and_again(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            await conversation.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            await conversation.closed_by_client()

        async with sending(lane_transport, script) as (server, transport):
            real = transport._connector.connect

            async def connect(*arguments: Any) -> Any:
                assert server.connections < 10, "bounded"
                connection = await real(*arguments)
                await turns_of_the_loop()  # its word is there before it is asked
                return connection

            transport._connector.connect = connect
            outcome = await transport.send("1", PAYLOAD, open_gate)
            told = "ConnectionError: the service answered before it was asked"
            assert outcome == NotSent(told, unreachable=True)
        assert server.connections == CONNECT_ROUNDS
        assert server.requests == []

    async def test_half_an_answer_to_nothing_is_not_the_beginning_of_the_next_reply(self) -> None:
        idle, strayed = asyncio.Event(), asyncio.Event()
        stray = b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + ACCEPTED.replace(b".A", b".STRAY")

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.answer(200, ACCEPTED)
                await idle.wait()
                await conversation.write(stray)
                strayed.set()

        async with sending(lane_transport, script) as (server, transport):
            await transport.send("1", PAYLOAD, open_gate)
            idle.set()
            await strayed.wait()
            await turns_of_the_loop()
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 2

    @pytest.mark.parametrize(
        "reply",
        [
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ACCEPTED), ACCEPTED),
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
            % (len(ACCEPTED), ACCEPTED),
        ],
        ids=["length", "chunked"],
    )
    @pytest.mark.parametrize("more", [b"", b"HTTP/1.1 200 OK\r\nContent-Len"], ids=["whole", "more"])
    @pytest.mark.parametrize("cut", [0, 30, -len(ACCEPTED), -20, -1])
    async def test_half_a_head_behind_a_reply_ends_the_lane(
        self, reply: bytes, more: bytes, cut: int
    ) -> None:
        """What follows would be taken for the rest of it. A reply that is whole ends no lane, however it comes."""

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.write(reply[:cut])
                await turns_of_the_loop()
                await conversation.write(reply[cut:] + more)

        async with sending(lane_transport, script) as (server, transport):
            for _ in range(3):
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == (3 if more else 1)

    async def test_a_coded_reply_that_nobody_asked_for_keeps_its_lane(self) -> None:
        script = answering(200, gzip.compress(ACCEPTED), "Content-Encoding: gzip")
        async with sending(lane_transport, script) as (server, transport):
            for _ in range(3):
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 1

    async def test_a_body_that_cannot_be_decoded_is_noticed_at_once(self) -> None:
        script = answering(200, b"this is no gzip", "Content-Encoding: gzip")
        async with sending(lane_transport, script) as (server, transport):
            for _ in range(2):
                outcome = await transport.send("1", PAYLOAD, open_gate)
                assert isinstance(outcome, Unknown)
                assert outcome.reason.startswith("HTTP 200 that cannot be read: ")
        assert server.connections == 2

    async def test_a_cancelled_request_takes_its_connection_with_it(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                if len(server.requests) > 1:
                    await conversation.answer(200, ACCEPTED)

        async with sending(lane_transport, script) as (server, transport):
            sent = asyncio.create_task(transport.send("1", PAYLOAD, open_gate))
            await server.received.wait()
            sent.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sent
            assert await transport.send("2", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 2

    async def test_a_break_at_the_gate_leaves_no_cancellation_behind(self) -> None:
        at_gate = asyncio.Event()

        async def script(server: Server, conversation: Conversation) -> None:
            await at_gate.wait()
            conversation.reset()

        async def gate() -> bool:
            at_gate.set()
            await asyncio.Event().wait()
            return True

        async with sending(lane_transport, script) as (_, transport):
            outcome = await transport.send("1", PAYLOAD, gate)
            assert isinstance(outcome, NotSent)
            assert outcome.unreachable
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            await asyncio.sleep(0)  # would raise what was left

    async def test_nothing_is_written_when_the_connection_ends_while_the_gate_opens(self) -> None:
        async def gate() -> bool:
            (lane,) = transport._lanes
            assert lane.transport is not None
            lane.transport.close()
            return True

        async with serving(answering(200, ACCEPTED)) as server, lanes(server.base_url) as transport:
            outcome = await transport.send("1", PAYLOAD, gate)
            assert isinstance(outcome, NotSent)
            assert outcome.unreachable
        assert server.requests == []

    async def test_a_reply_in_countless_pieces_is_in_doubt_and_ends_the_connection(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            await conversation.write(b"1\r\n \r\n" * 20_000)
            await conversation.closed_by_client()

        async with sending(lane_transport, script, reply_s=900, total_s=900) as (_, transport):
            outcome = await asyncio.wait_for(transport.send("1", PAYLOAD, open_gate), 10)
        assert isinstance(outcome, Unknown)

    async def test_an_oversize_reply_ends_at_its_size(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n")
            await conversation.write(b"x" * 80_000)
            await conversation.closed_by_client()

        async with sending(lane_transport, script, reply_s=900, total_s=900) as (_, transport):
            outcome = await asyncio.wait_for(transport.send("1", PAYLOAD, open_gate), 10)
        assert outcome == Unknown(f"HTTP 200 with more than {BODY_BYTES_MAX} bytes")

    async def test_closing_leaves_no_connection_behind(self) -> None:
        complaints: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with serving(answering(200, ACCEPTED)) as server:
            transport = LaneTransport(server.base_url, "the-token")
            await asyncio.gather(*(transport.send(str(n), PAYLOAD, open_gate) for n in range(4)))
            await transport.close()
            del transport
            gc.collect()
        assert complaints == []

    async def test_closing_ends_what_is_open_as_breaks(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.closed_by_client()

        at_gate = asyncio.Event()

        async def gate() -> bool:
            at_gate.set()
            await asyncio.Event().wait()
            return True

        async with serving(script) as server:
            transport = LaneTransport(server.base_url, "the-token")
            written = asyncio.create_task(transport.send("1", PAYLOAD, open_gate))
            waiting = asyncio.create_task(transport.send("2", PAYLOAD, gate))
            await asyncio.gather(server.received.wait(), at_gate.wait())
            await transport.close()
            assert await written == Unknown("the transport was closed")
            assert await waiting == NotSent("the transport was closed", unreachable=True)

    async def test_sweeps_end_nothing_that_has_time_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither a message that waits at its gate nor one that waits for its reply."""
        monkeypatch.setattr(lanes_module, "SWEEP_S_MAX", 0.01)
        sweeps = 0

        async def swept() -> None:
            nonlocal sweeps
            before = sweeps
            while sweeps < before + 3:
                await asyncio.sleep(0.005)

        def sweep(self: LaneTransport) -> None:
            nonlocal sweeps
            sweeps += 1
            real(self)

        async def gate() -> bool:
            await swept()
            return True

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await swept()
                await conversation.answer(200, ACCEPTED)

        real = LaneTransport._sweep
        monkeypatch.setattr(LaneTransport, "_sweep", sweep)
        async with sending(lane_transport, script, reply_s=60, total_s=60) as (server, transport):
            for _ in range(2):
                assert await transport.send("1", PAYLOAD, gate) == Accepted("wamid.A")
        assert server.connections == 1

    async def test_a_lane_that_has_grown_old_since_the_last_sweep_is_not_written_to(self) -> None:
        async with sending(lane_transport, answering(200, ACCEPTED)) as (server, transport):
            await transport.send("1", PAYLOAD, open_gate)
            lane = transport.free_connection()
            lane.put_back()
            lane.deadline_s = asyncio.get_running_loop().time()
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 2

    async def test_silence_is_named_as_such(self) -> None:
        async with sending(lane_transport, stalling, reply_s=0.05) as (_, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Unknown("TimeoutError: no reply in time")

    async def test_a_request_leaves_in_the_moment_of_its_write(self) -> None:
        """Every loop may keep bytes back up to this limit, and the pace is judged by when they leave."""
        async with sending(lane_transport, answering(200, ACCEPTED)) as (_, transport):
            await transport.send("1", PAYLOAD, open_gate)
            assert transport.free_connection().transport.get_write_buffer_limits() == (0, 0)


class TestRequestHeads:
    async def test_a_number_cannot_add_lines(self) -> None:
        async with sending(lane_transport, answering(200, ACCEPTED)) as (server, transport):
            assert await transport.send("1 HTTP/1.1\r\nX: y", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.requests[0].startswith(b"POST /v22.0/1%20HTTP/1.1X:%20y/messages HTTP/1.1\r\nHost:")

    async def test_a_token_cannot_add_lines(self) -> None:
        async with serving(answering(200, ACCEPTED)) as server:
            transport = LaneTransport(server.base_url, "token\r\nX: y")
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), NotSent)
            await transport.close()
        assert server.requests == []

    async def test_each_number_has_its_own_path_and_all_have_one_pool(self) -> None:
        async with sending(lane_transport, answering(200, ACCEPTED)) as (server, transport):
            for number in ("1", "2", "1"):
                await transport.send(number, PAYLOAD, open_gate)
        assert [request.split()[1] for request in server.requests] == [
            b"/v22.0/1/messages",
            b"/v22.0/2/messages",
            b"/v22.0/1/messages",
        ]
        assert server.connections == 1


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate of localhost and its key, made for this run."""
    home = tmp_path_factory.mktemp("tls")
    key, chain = home / "key.pem", home / "chain.pem"
    words = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        f" -keyout {key} -out {chain} -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    )
    subprocess.run(words.split(), check=True, capture_output=True)
    return chain, key


@asynccontextmanager
async def tls_server(certificate: tuple[Path, Path]) -> AsyncIterator[Server]:
    chain, key = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    async with serving(answering(200, ACCEPTED), tls=context) as server:
        yield server


@pytest.mark.parametrize("transport_of_it", [LaneTransport, SessionTransport])
class TestTls:
    async def test_sends_through_tls(
        self, certificate: tuple[Path, Path], transport_of_it: type[LaneTransport | SessionTransport]
    ) -> None:
        trust = ssl.create_default_context(cafile=str(certificate[0]))
        async with (
            tls_server(certificate) as server,
            aclosing_transport(transport_of_it(server.base_url, "the-token", tls=trust)) as transport,
        ):
            for _ in range(3):
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert (server.connections, len(server.requests)) == (1, 3)

    async def test_a_certificate_that_nobody_trusts_is_not_sent_to(
        self, certificate: tuple[Path, Path], transport_of_it: type[LaneTransport | SessionTransport]
    ) -> None:
        async with (
            tls_server(certificate) as server,
            aclosing_transport(transport_of_it(server.base_url, "the-token")) as transport,
        ):
            outcome = await transport.send("1", PAYLOAD, open_gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable
        assert server.requests == []


async def proxying(server: Server, conversation: Conversation) -> None:
    """Answers plain requests itself and joins the two ends of a CONNECT."""
    while head := await server.read(conversation):
        if head.startswith(b"CONNECT"):
            host, port = head.split()[1].decode().split(":")
            await conversation.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await conversation.join(host, int(port))
            return
        await conversation.answer(200, ACCEPTED)


class TestProxies:
    @pytest.mark.parametrize("way", ["lanes", "session"])
    async def test_the_setting_reaches_every_transport(self, way: Literal["lanes", "session"]) -> None:
        async with serving(proxying) as proxy:
            address = SecretStr(proxy.base_url.replace("http://", "http://user:secret@"))
            service = ServiceSettings(
                "http://service.invalid", SecretStr("t"), transport=way, proxy_url=address
            )
            async with aclosing_transport(transport_of(service)) as transport:
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert b"\r\nproxy-authorization: basic " in proxy.requests[0].lower()

    async def test_a_plain_proxy_is_asked_for_the_whole_url(self) -> None:
        async with serving(proxying) as proxy:
            address = proxy.base_url.replace("http://", "http://user:secret@")
            async with lanes("http://service.invalid", proxy=address) as transport:
                for _ in range(2):
                    assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert proxy.connections == 1
        head = proxy.requests[0].lower()
        assert head.startswith(b"post http://service.invalid/v22.0/1/messages http/1.1\r\n")
        assert b"\r\nhost: service.invalid\r\n" in head
        assert b"\r\nproxy-authorization: basic " in head

    async def test_tls_goes_through_a_tunnel(self, certificate: tuple[Path, Path]) -> None:
        trust = ssl.create_default_context(cafile=str(certificate[0]))
        async with tls_server(certificate) as server, serving(proxying) as proxy:
            address = proxy.base_url.replace("http://", "http://user:secret@")
            async with lanes(server.base_url, tls=trust, proxy=address) as transport:
                for _ in range(2):
                    assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            assert len(proxy.requests) == 1
            assert b"\r\nproxy-authorization: basic " in proxy.requests[0].lower()
        assert server.requests[0].startswith(b"POST /v22.0/1/messages HTTP/1.1\r\n")
        assert b"proxy-authorization" not in server.requests[0].lower()

    async def test_a_proxy_that_does_not_listen_is_not_sent(self) -> None:
        async with lanes("http://service.invalid", proxy="http://127.0.0.1:1") as transport:
            outcome = await transport.send("1", PAYLOAD, open_gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable


class TestReliance:
    """What lanes use of aiohttp beyond what it documents. When one of these fails under a new aiohttp, read
    `engine/api/lane_connection.py` against it before the lock moves; `transport = "session"` works meanwhile.
    """

    def test_the_pool_connects_in_the_name_of_a_request(self) -> None:
        assert list(inspect.signature(aiohttp.TCPConnector.connect).parameters) == [
            "self",
            "req",
            "traces",
            "timeout",
        ]
        wanted = {"method", "url", "headers", "loop", "ssl", "proxy", "proxy_headers"}
        assert wanted <= set(inspect.signature(ClientRequest.__init__).parameters)

    async def test_the_pool_builds_connections_through_its_factory(self) -> None:
        async with serving(answering(200, ACCEPTED)) as server, lanes(server.base_url) as transport:
            assert transport._connector._factory.func is not ResponseHandler
            connection = await transport._connector.connect(
                transport._request, [], aiohttp.ClientTimeout(total=5)
            )
            assert isinstance(connection.protocol, Lane)
            assert connection.transport is connection.protocol.transport
            connection.release()
            again = await transport._connector.connect(transport._request, [], aiohttp.ClientTimeout(total=5))
            assert again.protocol is not None
            again.close()
            assert not transport._connector._conns
        assert server.connections == 1

    def test_a_protocol_keeps_its_parser_and_hands_heads_to_feed_data(self) -> None:
        parameters = inspect.signature(ResponseHandler.set_response_params).parameters
        wanted = {"read_until_eof", "read_bufsize", "max_line_size", "max_field_size", "max_headers"}
        assert wanted <= set(parameters)
        assert list(inspect.signature(ResponseHandler.feed_data).parameters) == ["self", "data", "size"]
        for name in ("data_received", "connection_lost", "resume_reading", "force_close", "abort"):
            assert callable(getattr(ResponseHandler, name))
        assert isinstance(ResponseHandler.should_close, property)

    async def test_one_parser_reads_reply_after_reply_and_a_body_in_pieces(self) -> None:
        protocol = _Recorder(asyncio.get_running_loop())
        protocol.set_response_params(read_until_eof=True)
        parser = protocol._parser
        assert isinstance(parser, HttpResponseParser)
        for _ in range(3):
            protocol.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            message, body = protocol.seen.pop()
            assert (message.code, body.total_bytes, body.is_eof()) == (200, 2, False)
            protocol.data_received(b"cd")
            assert (body.is_eof(), body.read_nowait()) == (True, b"abcd")
            assert not protocol._reading_paused
            assert protocol._parser is parser
            assert not protocol.should_close

    async def test_a_read_of_a_body_asks_to_resume(self) -> None:
        """Why a lane looks before it resumes: this would run the parser once more for every reply."""
        protocol = _Recorder(asyncio.get_running_loop())
        protocol.set_response_params(read_until_eof=True)
        protocol.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        _, body = protocol.seen.pop()
        assert isinstance(body, StreamReader)
        resumed = protocol.resumed
        body.read_nowait()
        assert protocol.resumed > resumed


class _Recorder(ResponseHandler):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.seen: list[Any] = []
        self.resumed = 0

    def feed_data(self, data: Any, size: int = 0) -> None:
        self.seen.append(data)

    def resume_reading(self, resume_parser: bool = True) -> None:
        self.resumed += 1


NAMES = (
    "Content-Type",
    "content-length",
    "Content-Encoding",
    "TRANSFER-ENCODING",
    "Connection",
    "X-Id",
    "Upgrade",
    "Date",
)
VALUES = (
    "5",
    "05",
    "4",
    "chunked",
    "close",
    "keep-alive",
    "gzip",
    "application/json",
    "",
    " 5 ",
    "5, 5",
    "a\tb",
)


class TestPlainReplies:
    """What a lane completes without the parser, the parser would have completed alike."""

    @settings(max_examples=300, deadline=None)
    @given(
        headers=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=5),
        length=st.sampled_from(
            ("Content-Length: 5", "content-length:5", "CONTENT-LENGTH: 5", "Content-Length: 4", "")
        ),
        status=st.sampled_from(
            ("HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.0 200 OK", "HTTP/1.1 204 No", "HTTP/1.1 400 Bad")
        ),
        body=st.sampled_from((b"12345", b"1234", b"123456", b"")),
    )
    def test_agree_with_the_parser(
        self, headers: list[tuple[str, str]], length: str, status: str, body: bytes
    ) -> None:
        lines = [status, *(f"{name}: {value}" for name, value in headers), length]
        data = "\r\n".join(filter(None, lines)).encode() + b"\r\n\r\n" + body
        asyncio.run(self._compare(data, body))

    async def _compare(self, data: bytes, body: bytes) -> None:
        if (taken := plain_body(data)) is not None:
            assert taken == body
            protocol = _Recorder(asyncio.get_running_loop())
            protocol.set_response_params(read_until_eof=True)
            protocol.data_received(data)
            ((message, stream),) = protocol.seen
            assert (message.code, message.should_close, message.upgrade) == (200, False, False)
            assert (stream.is_eof(), stream.read_nowait()) == (True, body)
            assert not protocol.should_close

    def test_a_plain_reply_needs_no_parser(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Id: a\r\n\r\n"
        assert plain_body(head % len(ACCEPTED) + ACCEPTED) == ACCEPTED

    async def test_the_rest_of_a_parsed_reply_is_never_taken_for_a_plain_one(self) -> None:
        inner = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ACCEPTED) + ACCEPTED

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(inner))
                await turns_of_the_loop()
                await conversation.write(inner)

        async with sending(lane_transport, script) as (_, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
