"""Lanes: which replies they read, and what bytes of the service close them."""

from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest

from drumbeat.engine.api.lanes import CONNECTS_MAX
from drumbeat.engine.api.reply import BODY_BYTES_MAX
from drumbeat.engine.core.outcome import Accepted, NotSent, Unknown
from tests.api.lanes import lane_transport

from .loopback import Conversation, Server
from .transports import (
    ACCEPTED,
    PAYLOAD,
    answering,
    open_gate,
    sending,
    stalling,
    turns_of_the_loop,
)


class TestReplies:
    async def test_a_body_without_a_length_ends_when_the_connection_closes(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            if await server.read(conversation):
                await conversation.write(b"HTTP/1.1 200 OK\r\n\r\n" + ACCEPTED)
                conversation.close()

        async with sending(lane_transport, script) as (_, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")

    async def test_a_100_continue_is_not_the_reply(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                await conversation.answer(200, ACCEPTED)

        async with sending(lane_transport, script) as (server, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 1

    async def test_two_replies_to_one_request_close_the_connection(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.write(2 * (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))

        async with sending(lane_transport, script) as (server, transport):
            for _ in range(2):
                assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
        assert server.connections == 2

    async def test_a_compressed_reply_keeps_its_lane(self) -> None:
        script = answering(200, gzip.compress(ACCEPTED), "Content-Encoding: gzip")
        async with sending(lane_transport, script) as (server, transport):
            for _ in range(3):
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 1

    async def test_a_body_that_cannot_be_decompressed_is_noticed_at_once(self) -> None:
        script = answering(200, b"this is no gzip", "Content-Encoding: gzip")
        async with sending(lane_transport, script) as (server, transport):
            for _ in range(2):
                outcome = await transport.send("1", PAYLOAD, open_gate)
                assert isinstance(outcome, Unknown)
                assert outcome.reason.startswith("an unreadable HTTP 200 reply: ")
        assert server.connections == 2

    async def test_a_reply_in_too_many_chunks_is_in_doubt_and_closes_the_connection(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            await conversation.write(b"1\r\n \r\n" * 20_000)
            await conversation.closed_by_client()

        async with sending(lane_transport, script, reply_s=900, total_s=900) as (_, transport):
            outcome = await asyncio.wait_for(transport.send("1", PAYLOAD, open_gate), 10)
        assert isinstance(outcome, Unknown)

    async def test_reading_an_oversized_reply_stops_at_the_size_limit(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            await server.read(conversation)
            await conversation.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n")
            await conversation.write(b"x" * 80_000)
            await conversation.closed_by_client()

        async with sending(lane_transport, script, reply_s=900, total_s=900) as (_, transport):
            outcome = await asyncio.wait_for(transport.send("1", PAYLOAD, open_gate), 10)
        assert outcome == Unknown(f"an HTTP 200 reply with more than {BODY_BYTES_MAX} bytes")

    async def test_a_missing_reply_has_its_own_reason(self) -> None:
        async with sending(lane_transport, stalling, reply_s=0.05) as (_, transport):
            assert await transport.send("1", PAYLOAD, open_gate) == Unknown("no reply in time")


class TestUnrequestedBytes:
    async def test_part_of_an_unrequested_reply_closes_a_detached_lane(self) -> None:
        idle, strayed = asyncio.Event(), asyncio.Event()

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.answer(200, ACCEPTED)
                await idle.wait()
                await conversation.write(b"\r\n")
                strayed.set()

        async with sending(lane_transport, script) as (server, transport):
            await transport.send("1", PAYLOAD, open_gate)
            lane = transport.acquire_idle()
            transport._lanes.discard(lane)
            lane.detach()
            idle.set()
            await strayed.wait()
            await turns_of_the_loop()
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 2

    async def test_a_service_that_sends_bytes_before_a_request_gets_few_connects(self) -> None:
        async def script(server: Server, conversation: Conversation) -> None:
            await conversation.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            await conversation.closed_by_client()

        async with sending(lane_transport, script) as (server, transport):
            real = transport._connector.connect

            async def connect(*arguments: Any) -> Any:
                assert server.connections < 10, "bounded"
                connection = await real(*arguments)
                await turns_of_the_loop()  # its bytes arrive before the request
                return connection

            transport._connector.connect = connect
            outcome = await transport.send("1", PAYLOAD, open_gate)
            reason = "the service sent bytes before any request"
            assert outcome == NotSent(reason, unreachable=True)
        assert server.connections == CONNECTS_MAX
        assert server.requests == []

    async def test_part_of_an_unrequested_reply_does_not_begin_the_next_reply(self) -> None:
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
    async def test_part_of_a_head_after_a_reply_closes_the_lane(
        self, reply: bytes, more: bytes, cut: int
    ) -> None:
        """Otherwise the next reply would be taken for the rest of the head. A whole reply never closes the lane."""

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await conversation.write(reply[:cut])
                await turns_of_the_loop()
                await conversation.write(reply[cut:] + more)

        async with sending(lane_transport, script) as (server, transport):
            for _ in range(3):
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == (3 if more else 1)
