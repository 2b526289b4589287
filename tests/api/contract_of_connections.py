"""Connections that are reused, waited for, lost, or cannot be opened."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from drumbeat.engine.core.outcome import Accepted, NotSent, Unknown
from tests.kit.ports import free_port

from .loopback import Conversation, Server, serving
from .transports import (
    ACCEPTED,
    PAYLOAD,
    Factory,
    aclosing_transport,
    answering,
    no_descriptors,
    open_gate,
    sending,
    stalling,
)


class ConnectionsContract:
    """A part of `TransportContract`."""

    async def test_a_connection_is_reused(self, factory: Factory) -> None:
        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            for _ in range(5):
                assert isinstance(await transport.send("1", PAYLOAD, open_gate), Accepted)
        assert (server.connections, len(server.requests)) == (1, 5)

    async def test_a_lack_of_descriptors_does_not_count_against_the_service(self, factory: Factory) -> None:
        async with sending(factory, answering(200, ACCEPTED)) as (server, transport):
            with no_descriptors():
                outcome = await transport.send("1", PAYLOAD, open_gate)
            assert isinstance(outcome, NotSent)
            assert (outcome.unreachable, outcome.exhausted) == (False, True)
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert len(server.requests) == 1

    async def test_a_lookup_that_fails_for_lack_of_descriptors_does_not_count_against_the_service(
        self, factory: Factory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The system's resolver reports only a temporary failure."""

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

    async def test_a_post_is_never_repeated_on_a_connection_that_the_server_closed(
        self, factory: Factory
    ) -> None:
        """The server answers once, then reads the next request on the same connection and closes it."""

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

    async def test_a_server_that_closes_an_idle_connection_loses_and_repeats_nothing(
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

    async def test_a_refused_connection_is_not_sent(self, factory: Factory) -> None:
        async with aclosing_transport(factory(f"http://127.0.0.1:{free_port()}")) as transport:
            outcome = await transport.send("1", PAYLOAD, open_gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable

    async def test_an_unknown_host_name_is_not_sent(self, factory: Factory) -> None:
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

    async def test_every_waiting_send_gets_a_connection_when_many_become_free_at_once(
        self, factory: Factory
    ) -> None:
        """The fault was: one connection went back to the pool, and the others stayed idle while sends waited."""
        together = asyncio.Barrier(4)

        async def script(server: Server, conversation: Conversation) -> None:
            while await server.read(conversation):
                await together.wait()
                await conversation.answer(200, ACCEPTED)

        async with sending(factory, script, connections=4, connect_s=10) as (_, transport):
            sends = (transport.send("1", PAYLOAD, open_gate) for _ in range(16))
            assert set(await asyncio.gather(*sends)) == {Accepted("wamid.A")}

    async def test_after_close_nothing_is_sent(self, factory: Factory) -> None:
        async with serving(answering(200, ACCEPTED)) as server:
            transport = factory(server.base_url)
            await transport.close()
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), NotSent)
        assert server.requests == []

    async def test_close_ends_a_wait_for_a_connection_with_an_outcome(self, factory: Factory) -> None:
        """The pool cancels everyone who waits in it. That must not look like a cancellation of `send`."""
        async with sending(factory, stalling, connections=1) as (server, transport):
            sends = [asyncio.create_task(transport.send("1", PAYLOAD, open_gate)) for _ in range(3)]
            await server.received.wait()
            await transport.close()
            outcomes = await asyncio.wait_for(asyncio.gather(*sends), 20)
        waited = [outcome for outcome in outcomes if isinstance(outcome, NotSent)]
        assert len(waited) == 2
        assert all(outcome.unreachable for outcome in waited)
        assert len(server.requests) == 1
