"""Unrequested bytes are never taken for a reply."""

from __future__ import annotations

import asyncio

import pytest

from drumbeat.engine.core.outcome import Accepted, NotSent, Unknown

from .loopback import Conversation, Server
from .transports import ACCEPTED, PAYLOAD, STRAY, Factory, open_gate, sending, turns_of_the_loop


class StraysContract:
    """A part of `TransportContract`."""

    async def test_an_unrequested_reply_is_not_taken_for_the_reply(self, factory: Factory) -> None:
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

    async def test_a_second_reply_on_an_idle_connection_is_not_taken_for_the_next_one(
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
    async def test_a_reply_that_began_before_the_request_is_not_taken_for_its_reply(
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
    async def test_any_bytes_on_an_idle_connection_close_it(self, factory: Factory, more: bytes) -> None:
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
    async def test_bytes_after_a_reply_are_no_part_of_the_next_one(
        self, factory: Factory, more: bytes, cut: int
    ) -> None:
        """If the extra bytes were the body, the head would end at the empty line inside the reply."""
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
