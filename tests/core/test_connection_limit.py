"""How many connections a limit on descriptors allows. Each row says why."""

import pytest

from drumbeat.engine.core.connection_limit import CONNECTIONS_MAX, RESERVE, WANTED, connections_within


@pytest.mark.parametrize(
    ("limit", "connections", "why"),
    [
        (WANTED, CONNECTIONS_MAX, "enough for all connections"),
        (2**30, CONNECTIONS_MAX, "a huge limit, as in containers, does not raise the number"),
        (1_024, 1_024 - RESERVE, "the usual soft limit"),
        (100, 50, "half of a small limit stays reserved"),
        (2, 1, "at least one connection is left"),
    ],
)
def test_connections_leave_enough_descriptors_for_everything_else(
    limit: int, connections: int, why: str
) -> None:
    assert connections_within(limit) == connections, why
