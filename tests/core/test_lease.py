"""Who may take over a number and how long the next owner waits: one row for each way that an owner ends."""

import pytest

from engine.core.lease import FormerOwner


def former(**told: object) -> FormerOwner:
    """An owner whose lease runs, and of whom nothing else is known."""
    usual = {
        "epoch": 7,
        "released": False,
        "dead": False,
        "lease_runs": True,
        "past_lease_s": -4.0,
        "fence_missing": False,
        "no_send_s": -60.0,
    }
    return FormerOwner(**{**usual, **told})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("told", "holds", "may_claim", "wait_s"),
    [
        pytest.param({}, True, True, 3.0, id="its lease runs"),
        pytest.param({"lease_runs": False, "past_lease_s": 99.0}, False, True, 3.0, id="its lease ran out"),
        pytest.param({"released": True, "past_lease_s": 0.25}, False, False, 0.75, id="it has just let go"),
        pytest.param({"released": True, "lease_runs": False, "past_lease_s": 0.25}, False, False, 0.75, id="let go, its lease over"),
        pytest.param({"dead": True}, False, False, 1.0, id="dead, and its lease runs"),
        pytest.param({"dead": True, "lease_runs": False, "past_lease_s": 99.0}, False, False, 1.0, id="dead: since when is not known"),
        pytest.param({"epoch": 0, "released": True, "lease_runs": False, "past_lease_s": None, "no_send_s": 0.0}, False, False, 0.0, id="nobody ever was"),
        pytest.param({"released": True, "past_lease_s": 0.0, "no_send_s": 2.5}, False, False, 2.5, id="let go inside its own wait"),
        pytest.param({"dead": True, "no_send_s": 2.5}, False, False, 2.5, id="dead inside its own wait"),
        pytest.param({"dead": True, "fence_missing": True, "no_send_s": 0.0}, False, False, 3.0, id="dead before it fenced"),
        pytest.param({"released": True, "past_lease_s": 99.0, "fence_missing": True, "no_send_s": 0.0}, False, False, 3.0, id="let go before it fenced"),
        pytest.param({"lease_runs": False, "no_send_s": 3_600.0}, False, True, 3_600.0, id="never less than what it had to wait"),
    ],
)  # fmt: skip
def test_how_an_owner_ended_says_who_may_follow_and_when(
    told: dict[str, object], holds: bool, may_claim: bool, wait_s: float
) -> None:
    owner = former(**told)
    assert (owner.holds, owner.may_claim, owner.wait_s) == (holds, may_claim, wait_s)


def test_a_second_after_a_clean_release_nothing_is_waited_for() -> None:
    assert former(released=True, past_lease_s=1.5).wait_s == 0.0
