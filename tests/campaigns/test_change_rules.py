"""Which option of a planned campaign may change in which state."""

import pytest

from drumbeat.campaigns.options.identity import AUDIENCE_CONTENT, Difference, shown
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.campaigns.planning.change_rules import CHANGEABLE, Effect, decide_changes, effect_of
from drumbeat.engine.core.states import CampaignState as State

APPLIED, ANEW, REFUSED = Effect.APPLIED, Effect.PLANNED_ANEW, Effect.REFUSED


@pytest.mark.parametrize(
    ("option", "draft", "scheduled", "running", "finished"),
    [
        ("expires_at", APPLIED, APPLIED, APPLIED, REFUSED),
        ("priority", APPLIED, APPLIED, APPLIED, REFUSED),
        ("window", APPLIED, APPLIED, APPLIED, REFUSED),
        ("time_zone", APPLIED, APPLIED, APPLIED, REFUSED),
        ("max_failed", APPLIED, APPLIED, APPLIED, REFUSED),
        ("start_at", APPLIED, APPLIED, REFUSED, REFUSED),
        ("on_unknown", APPLIED, APPLIED, REFUSED, REFUSED),
        ("number", APPLIED, APPLIED, REFUSED, REFUSED),
        ("template", ANEW, REFUSED, REFUSED, REFUSED),
        ("param", ANEW, REFUSED, REFUSED, REFUSED),
        (AUDIENCE_CONTENT, ANEW, REFUSED, REFUSED, REFUSED),
        ("external_id", ANEW, REFUSED, REFUSED, REFUSED),
        ("an option of tomorrow", ANEW, REFUSED, REFUSED, REFUSED),
        ("name", REFUSED, REFUSED, REFUSED, REFUSED),
    ],
)
def test_each_option_in_each_state(
    option: str, draft: Effect, scheduled: Effect, running: Effect, finished: Effect
) -> None:
    wanted = {
        State.DRAFT: draft,
        State.SCHEDULED: scheduled,
        State.RUNNING: running,
        State.PAUSED: running,
        State.FINISHED: finished,
        State.CANCELLED: finished,
        State.EXPIRED: finished,
    }
    for state, effect in wanted.items():
        (change,) = decide_changes(state, [Difference(option, 1, 2)])
        assert (change.effect, bool(change.reason)) == (effect, effect is REFUSED), state


@pytest.mark.parametrize(
    ("options", "effect"),
    [
        ([], APPLIED),
        (["window"], APPLIED),
        (["window", "param"], ANEW),
        (["window", "param", "name"], REFUSED),
    ],
)
def test_the_strongest_effect_counts(options: list[str], effect: Effect) -> None:
    changes = decide_changes(State.DRAFT, [Difference(option, 1, 2) for option in options])
    assert effect_of(changes) is effect


def test_hours_in_the_zone_of_the_recipient_change_by_a_new_plan() -> None:
    differences = [Difference("window", 1, 2), Difference("max_failed", 1, 2)]
    for state, effect in ((State.DRAFT, Effect.PLANNED_ANEW), (State.RUNNING, REFUSED)):
        window, max_failed = decide_changes(state, differences, in_recipient_zone=True)
        assert (window.effect, max_failed.effect) == (effect, APPLIED)


def test_the_table_names_options_that_identify_a_campaign() -> None:
    """A row for an option that is not compared would never be used."""
    assert shown({}).keys() & OPTIONS.keys() >= CHANGEABLE.keys()
