"""The rules of which options of a planned campaign may change, and when. Pure: a table and two functions.

Law: an option that decides who gets which message changes only while nothing is sent, by a new plan. An
option without a row here is of that kind.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from drumbeat.campaigns.options.identity import NAME, Difference
from drumbeat.engine.core.states import CampaignState, with_indefinite_article

_UNSENT = frozenset({CampaignState.DRAFT, CampaignState.SCHEDULED})
_LIVE = _UNSENT | {CampaignState.RUNNING, CampaignState.PAUSED}

# Options that change without a new plan, and the states in which they may. Senders read these columns of the
# campaign again and again.
CHANGEABLE: dict[str, frozenset[CampaignState]] = {
    "expires_at": _LIVE,
    "window": _LIVE,
    "time_zone": _LIVE,
    "max_failed": _LIVE,
    "priority": _LIVE,
    "share": _LIVE,
    "pause_at_failed": _LIVE,
    "start_at": _UNSENT,
    "on_unknown": _UNSENT,
    # A running process takes a campaign's numbers once, and a number that holds a range keeps it.
    "number": _UNSENT,
}
# Ranges are cut by time zones only at the plan, so hours in the recipient's zone change by a new plan.
_OF_THE_PLAN_IN_RECIPIENT_ZONE = frozenset({"window", "time_zone"})


class Effect(StrEnum):
    """The consequence of a difference."""

    APPLIED = "applied"
    PLANNED_ANEW = "planned anew"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Change:
    """An option that differs from the stored one, and the consequence. `reason` says why it is refused."""

    difference: Difference
    effect: Effect
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        found = self.difference
        return {"option": found.option, "old": found.old, "new": found.new, "effect": self.effect.value}


def decide_changes(
    state: CampaignState, differences: Iterable[Difference], *, in_recipient_zone: bool = False
) -> tuple[Change, ...]:
    """Return the consequence of each difference. If one is refused, none may be applied.

    `in_recipient_zone` says that the old or the new `time_zone` is the recipient's.
    """
    of_the_plan = _OF_THE_PLAN_IN_RECIPIENT_ZONE if in_recipient_zone else frozenset[str]()
    return tuple(_decide(state, difference, of_the_plan) for difference in differences)


def effect_of(changes: Sequence[Change]) -> Effect:
    """Return the strongest effect of the changes, which is that on the campaign."""
    effects = {change.effect for change in changes}
    return next(
        (effect for effect in (Effect.REFUSED, Effect.PLANNED_ANEW) if effect in effects), Effect.APPLIED
    )


def _decide(state: CampaignState, difference: Difference, of_the_plan: frozenset[str]) -> Change:
    option = difference.option
    changeable = frozenset[CampaignState]() if option in of_the_plan else CHANGEABLE.get(option, frozenset())
    if option == NAME:
        return Change(difference, Effect.REFUSED, "the name of a campaign cannot change")
    if state in changeable:
        return Change(difference, Effect.APPLIED)
    if state is CampaignState.DRAFT:
        return Change(difference, Effect.PLANNED_ANEW)
    when = "before it runs" if changeable else "in a draft"
    if state not in _LIVE:
        return Change(difference, Effect.REFUSED, f"{with_indefinite_article(state)} campaign has ended")
    return Change(difference, Effect.REFUSED, f"it may change only {when}, and the campaign is {state}")
