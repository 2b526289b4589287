"""The contract of every transport, kept by lanes on both of their ways."""

from __future__ import annotations

import pytest

from tests.api.lanes import ShortWay, lane_transport

from .transport_contract import TransportContract
from .transports import Factory


class TestLaneTransport(TransportContract):
    @pytest.fixture
    def factory(self) -> Factory:
        return lane_transport


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
