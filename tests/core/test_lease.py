"""Who may take over a number, and how long the new owner waits. One row for each way an owner ends."""

import pytest

from drumbeat.engine.core.lease import FormerOwner


def former(**changes: object) -> FormerOwner:
    """An owner with a valid lease, changed by `changes`."""
    usual = {
        "epoch": 7,
        "released": False,
        "dead": False,
        "lease_runs": True,
        "past_lease_s": -4.0,
        "fence_missing": False,
        "no_send_s": -60.0,
    }
    return FormerOwner(**{**usual, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "holds", "may_claim", "wait_s"),
    [
        pytest.param({}, True, True, 3.0, id="its lease is valid"),
        pytest.param({"lease_runs": False, "past_lease_s": 99.0}, False, True, 3.0, id="its lease has expired"),
        pytest.param({"released": True, "past_lease_s": 0.25}, False, False, 0.75, id="released just now"),
        pytest.param({"released": True, "lease_runs": False, "past_lease_s": 0.25}, False, False, 0.75, id="released, lease expired"),
        pytest.param({"dead": True}, False, False, 1.0, id="dead, lease valid"),
        pytest.param({"dead": True, "lease_runs": False, "past_lease_s": 99.0}, False, False, 1.0, id="dead, time of death unknown"),
        pytest.param({"epoch": 0, "released": True, "lease_runs": False, "past_lease_s": None, "no_send_s": 0.0}, False, False, 0.0, id="no former owner"),
        pytest.param({"released": True, "past_lease_s": 0.0, "no_send_s": 2.5}, False, False, 2.5, id="released during its own wait"),
        pytest.param({"dead": True, "no_send_s": 2.5}, False, False, 2.5, id="dead during its own wait"),
        pytest.param({"dead": True, "fence_missing": True, "no_send_s": 0.0}, False, False, 3.0, id="dead before it fenced its ranges"),
        pytest.param({"released": True, "past_lease_s": 99.0, "fence_missing": True, "no_send_s": 0.0}, False, False, 3.0, id="released before it fenced its ranges"),
        pytest.param({"lease_runs": False, "no_send_s": 3_600.0}, False, True, 3_600.0, id="at least the rest of its own wait"),
    ],
)  # fmt: skip
def test_how_an_owner_ended_decides_who_may_follow_and_when(
    changes: dict[str, object], holds: bool, may_claim: bool, wait_s: float
) -> None:
    owner = former(**changes)
    assert (owner.holds, owner.may_claim, owner.wait_s) == (holds, may_claim, wait_s)


def test_one_second_after_a_release_the_next_owner_need_not_wait() -> None:
    assert former(released=True, past_lease_s=1.5).wait_s == 0.0
