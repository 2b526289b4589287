"""Nothing is written before the gate opens. Then the request is written at once."""

from __future__ import annotations

import asyncio

import pytest

from drumbeat.engine.core.outcome import Accepted, NotSent
from tests.kit.ports import free_port

from .loopback import Conversation, Server
from .transports import (
    ACCEPTED,
    OPEN,
    PAYLOAD,
    Factory,
    aclosing_transport,
    answering,
    open_gate,
    sending,
    shut_gate,
    turns_of_the_loop,
)


class GatesContract:
    """A part of `TransportContract`."""

    async def test_a_closed_gate_writes_nothing(self, factory: Factory) -> None:
        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            assert await transport.send("1", PAYLOAD, shut_gate) == NotSent("claim expired")
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert len(server.requests) == 1

    async def test_the_gate_is_awaited_once_with_a_connection_ready_and_nothing_written(
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

    async def test_the_gate_is_not_awaited_without_a_connection(self, factory: Factory) -> None:
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

    async def test_send_raises_what_the_gate_raises_and_writes_nothing(self, factory: Factory) -> None:
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

    async def test_the_write_follows_the_gate_before_other_code_runs(self, factory: Factory) -> None:
        """A callback that the gate queues last already finds the request at the server's socket."""
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
