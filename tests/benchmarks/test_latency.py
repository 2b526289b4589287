"""Timing a transport does not change it, and gives the latency of each reply."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from drumbeat.benchmarks.senders.latency import BOUNDS_MS, TimedTransport, evenly, histogram, percentiles
from drumbeat.engine.api.transport import Transport
from drumbeat.engine.core.outcome import Accepted, NotSent, Unknown
from tests.api.lanes import FastPathTransport, lane_transport
from tests.api.loopback import Conversation, Server
from tests.api.transport_contract import TransportContract
from tests.api.transports import (
    ACCEPTED,
    PAYLOAD,
    Factory,
    answering,
    open_gate,
    sending,
    shut_gate,
    stalling,
)


def timed(base_url: str, **limits: Any) -> TimedTransport:
    return TimedTransport(lane_transport(base_url, **limits), 1)


def every_third(base_url: str, **limits: Any) -> TimedTransport:
    return TimedTransport(lane_transport(base_url, **limits), 3)


class TimedShortWay(FastPathTransport):
    def __init__(self, base_url: str, **limits: Any) -> None:
        self._transport: Transport = timed(base_url, **limits)
        self.close = self._transport.close
        self.acquire_idle = self._transport.acquire_idle


class TestTheLongWay(TransportContract):
    @pytest.fixture
    def factory(self) -> Factory:
        return timed


class TestTheShortWay(TransportContract):
    """As for lanes: without the tests of a gate that waits and of a pool that is full."""

    test_a_connection_lost_at_the_gate_is_not_sent = None
    test_a_cancelled_gate_is_not_sent = None
    test_every_waiting_send_gets_a_connection_when_many_become_free_at_once = None

    @pytest.fixture
    def factory(self) -> Factory:
        return TimedShortWay


async def test_one_in_so_many_is_timed_on_both_ways() -> None:
    async with sending(every_third, answering(200, ACCEPTED)) as (_, transport):
        for _ in range(6):
            assert isinstance(await transport.send("1", PAYLOAD, open_gate), Accepted)
        assert len(transport.latencies_ms) == 2
        for _ in range(6):
            connection, told = transport.acquire_idle(), asyncio.Event()
            connection.write("1", PAYLOAD, lambda _, told=told: told.set())
            await told.wait()
        assert len(transport.latencies_ms) == 4


async def test_the_time_begins_at_the_gate_and_ends_with_the_reply() -> None:
    gate_s, reply_s = 0.2, 0.05

    async def script(server: Server, conversation: Conversation) -> None:
        while await server.read(conversation):
            await asyncio.sleep(reply_s)
            await conversation.answer(200, ACCEPTED)

    async def gate() -> bool:
        await asyncio.sleep(gate_s)
        return True

    loop = asyncio.get_running_loop()
    async with sending(timed, script) as (_, transport):
        began_s = loop.time()
        await transport.send("1", PAYLOAD, gate)
        whole_ms = (loop.time() - began_s) * 1e3
    (latency_ms,) = transport.latencies_ms
    assert reply_s * 1e3 * 0.9 <= latency_ms <= whole_ms - gate_s * 1e3 * 0.9


async def test_what_got_no_reply_has_no_time() -> None:
    async with sending(timed, stalling, reply_s=0.1) as (_, transport):
        assert isinstance(await transport.send("1", PAYLOAD, open_gate), Unknown)
        assert isinstance(await transport.send("1", PAYLOAD, shut_gate), NotSent)
    assert not transport.latencies_ms


def test_percentiles_are_values_that_were_measured() -> None:
    assert percentiles([]) == {}
    found = percentiles([float(n) for n in range(1_001)])
    assert found == {"p50": 500.0, "p95": 950.0, "p99": 990.0, "p99.9": 999.0, "max": 1_000.0}
    assert set(percentiles([7.0]).values()) == {7.0}


def test_each_request_is_in_one_bar() -> None:
    measured = sorted([0.1, 0.25, 0.26, 3.0, 3.0, 1e6])
    bars = histogram(measured)
    assert [count for _, count in bars] == [2, 1, 2, 1]
    assert bars[0][0] == 0.25
    assert bars[-1][0] == round(BOUNDS_MS[-1], 3)


def test_a_sender_reports_enough_latencies_for_the_same_percentiles() -> None:
    latencies_ms = [scratch / 7 for scratch in range(100_000)]
    told = evenly(latencies_ms, 5_000)
    assert len(told) == 5_000 and (told[0], told[-1]) == (0.0, round(latencies_ms[-1], 3))
    for name, value in percentiles(latencies_ms).items():
        assert percentiles(told)[name] == pytest.approx(value, rel=0.001)
    assert evenly([0.12345, 2.0], 5) == [0.123, 2.0]
