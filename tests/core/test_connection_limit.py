"""How many connections a limit of descriptors allows, one sentence a row."""

import pytest

from engine.core.connection_limit import CONNECTIONS_MAX, RESERVE, WANTED, connections_within


@pytest.mark.parametrize(
    ("limit", "connections", "why"),
    [
        (WANTED, CONNECTIONS_MAX, "enough for all"),
        (2**30, CONNECTIONS_MAX, "a container's limit is no invitation"),
        (1_024, 1_024 - RESERVE, "the usual soft limit"),
        (100, 50, "a small limit is shared out"),
        (2, 1, "somebody has to send"),
    ],
)
def test_connections_leave_enough_for_everything_else(limit: int, connections: int, why: str) -> None:
    assert connections_within(limit) == connections, why
