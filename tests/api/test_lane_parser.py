"""The parts of aiohttp's parser and pool that lanes rely on, and plain replies, which skip the parser."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from aiohttp.http import HttpResponseParser
from aiohttp.streams import StreamReader
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.engine.api.lane_connection import Lane, plain_body
from drumbeat.engine.core.outcome import Unknown
from tests.api.lanes import lane_transport, lanes

from .loopback import Conversation, Server, serving
from .transports import ACCEPTED, PAYLOAD, answering, open_gate, sending, turns_of_the_loop


class TestReliance:
    """What lanes use of aiohttp beyond what it documents. When one of these fails under a new aiohttp, read
    `engine/api/lane_connection.py` against it before the lock moves.
    """

    def test_the_pool_connects_for_a_request(self) -> None:
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

    async def test_each_read_of_a_body_resumes_reading(self) -> None:
        """The reason for `Lane.resume_reading`: without it the parser runs once more for every reply."""
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
    """A reply that a lane reads without the parser has the same outcome as with the parser."""

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
    def test_the_fast_path_agrees_with_the_parser(
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

    async def test_the_rest_of_a_parsed_reply_is_never_taken_for_a_plain_reply(self) -> None:
        inner = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ACCEPTED) + ACCEPTED

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(inner))
                await turns_of_the_loop()
                await conversation.write(inner)

        async with sending(lane_transport, script) as (_, transport):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
