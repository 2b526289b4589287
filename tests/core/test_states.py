"""The states of campaigns, compared with a second copy of the table."""

from __future__ import annotations

from itertools import product

import pytest

from drumbeat.engine.core.states import (
    REASONS,
    CampaignEvent,
    CampaignState,
    EvidenceRank,
    IllegalTransition,
    ReasonCode,
    apply,
    with_indefinite_article,
)

TABLE = {
    "draft": {
        "schedule": "scheduled",
        "start": "running",
        "pause": "paused",
        "cancel": "cancelled",
        "expire": "expired",
    },
    "scheduled": {"start": "running", "pause": "paused", "cancel": "cancelled", "expire": "expired"},
    "running": {"pause": "paused", "finish": "finished", "cancel": "cancelled", "expire": "expired"},
    "paused": {"resume": "running", "schedule": "scheduled", "cancel": "cancelled", "expire": "expired"},
    "finished": {"reopen": "running"},
    "cancelled": {},
    "expired": {},
}


@pytest.mark.parametrize(("state", "event"), list(product(CampaignState, CampaignEvent)))
def test_every_event_in_every_state(state: CampaignState, event: CampaignEvent) -> None:
    expected = TABLE[state].get(event)
    if expected is not None:
        assert apply(state, event) == expected
        return
    with pytest.raises(IllegalTransition) as refused:
        apply(state, event)
    assert (refused.value.state, refused.value.event, refused.value.exit_code) == (state, event, 2)


def test_ranks_are_stored_as_small_numbers() -> None:
    assert {status.name: int(status) for status in EvidenceRank} == {
        "ACCEPTED": 1,
        "SENT": 2,
        "FAILED": 3,
        "DELIVERED": 4,
        "READ": 5,
    }


def test_states_get_the_right_article() -> None:
    refused = IllegalTransition(CampaignState.EXPIRED, CampaignEvent.RESUME)
    assert str(refused).startswith("an expired campaign cannot resume")
    assert with_indefinite_article(CampaignState.PAUSED) == "a paused"


@pytest.mark.parametrize(
    ("state", "event", "remedy"),
    [
        (CampaignState.DRAFT, CampaignEvent.RESUME, "possible now: start, pause, cancel"),
        (CampaignState.RUNNING, CampaignEvent.START, "possible now: pause, cancel"),
        (CampaignState.CANCELLED, CampaignEvent.CANCEL, "it has ended"),
    ],
)
def test_a_refusal_lists_the_possible_commands(
    state: CampaignState, event: CampaignEvent, remedy: str
) -> None:
    assert IllegalTransition(state, event).remedy == remedy


def test_every_reason_code_has_a_meaning() -> None:
    assert set(REASONS) == set(ReasonCode)
    assert len({reason.meaning for reason in REASONS.values()}) == len(REASONS)
