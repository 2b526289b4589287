"""Lanes: how long they stay open, how their requests end, and the request heads that they write."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from drumbeat.engine.api import lanes as lanes_module
from drumbeat.engine.api.lanes import LaneTransport
from drumbeat.engine.core.outcome import Accepted, NotSent, Unknown
from tests.api.lanes import lane_transport, lanes

from .loopback import Conversation, Server, serving
from .transports import (
    ACCEPTED,
    PAYLOAD,
    answering,
    open_gate,
    sending,
    shut_gate,
)


class TestReuse:
    async def test_the_sweep_closes_a_lane_that_was_unused_for_too_long(self) -> None:
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
            await asyncio.wait_for(closed.wait(), 10)  # by the sweep: no message asked for a lane meanwhile
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 2

    async def test_a_new_token_is_in_the_next_request_of_the_same_connection(self) -> None:
        async with serving(answering(200, ACCEPTED)) as server, lanes(server.base_url) as transport:
            await transport.send("1", PAYLOAD, open_gate)
            transport.set_token("another-token")
            await transport.send("1", PAYLOAD, open_gate)
        first, second = server.requests
        assert b"Authorization: Bearer the-token\r\n" in first
        assert b"Authorization: Bearer another-token\r\n" in second and b"the-token" not in second
        assert server.connections == 1

    async def test_only_a_request_extends_the_keep_alive(self) -> None:
        """The server counts its keep-alive from the last request that it received."""
        async with sending(lane_transport, answering(200, ACCEPTED)) as (server, transport):
            await transport.send("1", PAYLOAD, open_gate)
            lane = transport.acquire_idle()
            kept_until_s = lane.deadline_s
            lane.release()
            assert lane.deadline_s == kept_until_s
            assert await transport.send("1", PAYLOAD, shut_gate) == NotSent("claim expired")
            assert lane.deadline_s == kept_until_s
            await transport.send("1", PAYLOAD, open_gate)
            assert lane.deadline_s > kept_until_s
        assert server.connections == 1

    async def test_a_waiting_send_gets_the_next_free_connection(self) -> None:
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

    async def test_a_reply_with_connection_close_closes_the_lane(self) -> None:
        async with sending(lane_transport, answering(200, ACCEPTED, "Connection: close")) as (
            server,
            transport,
        ):
            for _ in range(3):
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
                assert "idle=0" in repr(transport)
        assert server.connections == 3

    async def test_a_sweep_ends_nothing_before_its_deadline(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither a message that waits at its gate nor one that waits for its reply is ended early."""
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

    async def test_a_lane_that_expired_since_the_last_sweep_is_not_used(self) -> None:
        async with sending(lane_transport, answering(200, ACCEPTED)) as (server, transport):
            await transport.send("1", PAYLOAD, open_gate)
            lane = transport.acquire_idle()
            lane.release()
            lane.deadline_s = asyncio.get_running_loop().time()
            assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.connections == 2


class TestEnds:
    async def test_a_cancelled_request_closes_its_connection(self) -> None:
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

    async def test_a_connection_that_breaks_at_the_gate_leaves_no_cancellation(self) -> None:
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
            await asyncio.sleep(0)  # would raise a remaining cancellation

    async def test_nothing_is_written_if_the_connection_closes_while_the_gate_opens(self) -> None:
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

    async def test_close_leaves_no_connection_open(self) -> None:
        complaints: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with serving(answering(200, ACCEPTED)) as server:
            transport = LaneTransport(server.base_url, "the-token")
            await asyncio.gather(*(transport.send(str(n), PAYLOAD, open_gate) for n in range(4)))
            await transport.close()
            del transport
            gc.collect()
        assert complaints == []

    async def test_close_ends_requests_in_flight_as_unknown(self) -> None:
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

    async def test_a_request_is_sent_when_it_is_written(self) -> None:
        """An event loop may delay bytes up to this limit, and the pace is judged by when they are sent."""
        async with sending(lane_transport, answering(200, ACCEPTED)) as (_, transport):
            await transport.send("1", PAYLOAD, open_gate)
            assert transport.acquire_idle().transport.get_write_buffer_limits() == (0, 0)


class TestRequestHeads:
    async def test_a_phone_number_id_cannot_add_header_lines(self) -> None:
        async with sending(lane_transport, answering(200, ACCEPTED)) as (server, transport):
            assert await transport.send("1 HTTP/1.1\r\nX: y", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert server.requests[0].startswith(b"POST /v22.0/1%20HTTP/1.1X:%20y/messages HTTP/1.1\r\nHost:")

    async def test_a_token_cannot_add_header_lines(self) -> None:
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
