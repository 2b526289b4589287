"""When a number leaves the end of a campaign to a faster one that is idle."""

import pytest

from drumbeat.engine.core.tail import (
    HANDOVER_S,
    IdleNumber,
    ends_sooner,
    ends_sooner_elsewhere,
    is_left_to_faster,
    is_wanted_elsewhere,
    left_to_from,
)

CAMPAIGN, ANOTHER = 1, 2
FAST, AS_FAST = IdleNumber("fast", 1_000.0), IdleNumber("slow", 80.0)


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


def sendable(phone_number_id: str) -> list[int]:
    """Return CAMPAIGN for `fast`, both for `slow`, and nothing for a stranger."""
    return {"fast": [CAMPAIGN], "slow": [CAMPAIGN, ANOTHER]}.get(phone_number_id, [])


@pytest.mark.parametrize(
    ("campaigns", "idle", "moves"),
    [
        pytest.param({CAMPAIGN}, [FAST], True, id="a faster number that may send it"),
        pytest.param({CAMPAIGN, ANOTHER}, [FAST], True, id="a part of it is enough"),
        pytest.param({CAMPAIGN}, [AS_FAST, FAST], True, id="any of them"),
        pytest.param({ANOTHER}, [FAST], False, id="it may not send this campaign"),
        pytest.param({CAMPAIGN}, [IdleNumber("a stranger", 1_000.0)], False, id="it may send nothing"),
        pytest.param({CAMPAIGN}, [AS_FAST], False, id="it is not faster"),
        pytest.param({CAMPAIGN}, [], False, id="nobody is idle"),
    ],
)
def test_a_tail_is_left_only_to_numbers_that_may_send_its_campaign(
    campaigns: set[int], idle: list[IdleNumber], moves: bool
) -> None:
    assert ends_sooner_elsewhere(900, 80.0, campaigns, idle, sendable) is moves


@pytest.mark.parametrize(
    ("campaign", "idle", "leaves"),
    [
        pytest.param(CAMPAIGN, [FAST], True, id="a faster number that may send it"),
        pytest.param(ANOTHER, [FAST], False, id="it may not send this campaign"),
        pytest.param(CAMPAIGN, [IdleNumber("fast", 100.0)], False, id="it is hardly faster"),
    ],
)
def test_free_ranges_are_left_only_to_a_number_that_would_take_them(
    campaign: int, idle: list[IdleNumber], leaves: bool
) -> None:
    assert is_left_to_faster(80.0, campaign, idle, sendable) is leaves


@pytest.mark.parametrize(
    ("number", "campaign", "wanted"),
    [
        pytest.param("slow", CAMPAIGN, True, id="another number is idle"),
        pytest.param("fast", CAMPAIGN, False, id="no other one is"),
        pytest.param("slow", ANOTHER, False, id="it may not send this campaign"),
    ],
)
def test_a_range_is_wanted_only_by_another_number_that_may_send_it(
    number: str, campaign: int, wanted: bool
) -> None:
    assert is_wanted_elsewhere(number, campaign, [FAST], sendable) is wanted
