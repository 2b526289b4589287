"""The transport contract for lanes, by the slow path and by the fast path."""

from __future__ import annotations

import pytest

from tests.api.lanes import FastPathTransport, lane_transport

from .transport_contract import TransportContract
from .transports import Factory


class TestLaneTransport(TransportContract):
    @pytest.fixture
    def factory(self) -> Factory:
        return lane_transport


class TestFastPath(TransportContract):
    """The same contract without two kinds of tests: those of a gate that waits, since the fast path takes its
    permit without a wait, and that of a full pool, where another message may use the opened connection.
    """

    test_a_connection_lost_at_the_gate_is_not_sent = None
    test_a_cancelled_gate_is_not_sent = None
    test_every_waiting_send_gets_a_connection_when_many_become_free_at_once = None

    @pytest.fixture
    def factory(self) -> Factory:
        return FastPathTransport
