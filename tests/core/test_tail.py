"""When a number leaves the end of a campaign to a faster one that is idle."""

import pytest

from drumbeat.engine.core.tail import HANDOVER_S, ends_sooner, left_to_from


@pytest.mark.parametrize(
    ("unclaimed", "rate_per_s", "other_per_s", "moves"),
    [
        pytest.param(1_000, 80.0, 1_000.0, True, id="twelve seconds become three"),
        pytest.param(150, 80.0, 1_000.0, False, id="it ends before another could begin"),
        pytest.param(1_000, 80.0, 80.0, False, id="one as fast as itself"),
        pytest.param(1_000, 80.0, 81.0, False, id="one that would gain less than the handover costs"),
        pytest.param(1_000, 80.0, 40.0, False, id="a slower one"),
        pytest.param(1_000, 80.0, 0.0, False, id="one without a rate"),
        pytest.param(0, 80.0, 1_000.0, False, id="nothing is left"),
    ],
)
def test_a_tail_moves_where_that_ends_it_sooner(
    unclaimed: int, rate_per_s: float, other_per_s: float, moves: bool
) -> None:
    assert ends_sooner(unclaimed, rate_per_s, other_per_s) is moves


def test_the_time_of_a_handover_must_be_won() -> None:
    """At twice the rate, half of the time is won."""
    most = int(2 * HANDOVER_S * 100)
    assert not ends_sooner(most, 100.0, 200.0)
    assert ends_sooner(most + 1, 100.0, 200.0)


def test_numbers_with_the_same_limit_leave_nothing_to_each_other() -> None:
    assert left_to_from(78.0) > 80.0
    assert left_to_from(80.0) < 1_000.0
