"""The states of campaigns and recipients. One table says what each event does to a campaign.

The state of a recipient is never set. The database derives it from the evidence about its attempts
(`present_state` in `engine/store/sql/migrations`). Tests compare it with the model in `tests/model/tries.py`.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

from engine.errors import UsageError


class CampaignState(StrEnum):
    DRAFT = "draft"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


def with_indefinite_article(state: str) -> str:
    """A state with its article: `a paused`, `an expired`."""
    return f"{'an' if state[0] in 'aeiou' else 'a'} {state}"


class CampaignEvent(StrEnum):
    SCHEDULE = "schedule"
    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    FINISH = "finish"
    CANCEL = "cancel"
    EXPIRE = "expire"
    REOPEN = "reopen"


# A paused campaign whose start lies ahead goes back to `scheduled`, so a resume never starts it early. A
# draft can be paused too: then only a user's `resume` starts it. `reopen`: a finished campaign sends again to
# recipients in doubt.
CAMPAIGN_TRANSITIONS: dict[tuple[CampaignState, CampaignEvent], CampaignState] = {
    (CampaignState.DRAFT, CampaignEvent.SCHEDULE): CampaignState.SCHEDULED,
    (CampaignState.DRAFT, CampaignEvent.START): CampaignState.RUNNING,
    (CampaignState.DRAFT, CampaignEvent.PAUSE): CampaignState.PAUSED,
    (CampaignState.DRAFT, CampaignEvent.CANCEL): CampaignState.CANCELLED,
    (CampaignState.DRAFT, CampaignEvent.EXPIRE): CampaignState.EXPIRED,
    (CampaignState.SCHEDULED, CampaignEvent.START): CampaignState.RUNNING,
    (CampaignState.SCHEDULED, CampaignEvent.PAUSE): CampaignState.PAUSED,
    (CampaignState.SCHEDULED, CampaignEvent.CANCEL): CampaignState.CANCELLED,
    (CampaignState.SCHEDULED, CampaignEvent.EXPIRE): CampaignState.EXPIRED,
    (CampaignState.RUNNING, CampaignEvent.PAUSE): CampaignState.PAUSED,
    (CampaignState.RUNNING, CampaignEvent.FINISH): CampaignState.FINISHED,
    (CampaignState.RUNNING, CampaignEvent.CANCEL): CampaignState.CANCELLED,
    (CampaignState.RUNNING, CampaignEvent.EXPIRE): CampaignState.EXPIRED,
    (CampaignState.PAUSED, CampaignEvent.RESUME): CampaignState.RUNNING,
    (CampaignState.PAUSED, CampaignEvent.SCHEDULE): CampaignState.SCHEDULED,
    (CampaignState.PAUSED, CampaignEvent.CANCEL): CampaignState.CANCELLED,
    (CampaignState.PAUSED, CampaignEvent.EXPIRE): CampaignState.EXPIRED,
    (CampaignState.FINISHED, CampaignEvent.REOPEN): CampaignState.RUNNING,
}

# The events that a user can order. The others happen by themselves.
_COMMANDS = (CampaignEvent.START, CampaignEvent.PAUSE, CampaignEvent.RESUME, CampaignEvent.CANCEL)


class IllegalTransition(UsageError):
    """The campaign's state does not allow this event."""

    def __init__(self, state: CampaignState, event: CampaignEvent) -> None:
        self.state = state
        self.event = event
        known = ", ".join(word for word in _COMMANDS if (state, word) in CAMPAIGN_TRANSITIONS)
        remedy = f"possible now: {known}" if known else "it has ended"
        super().__init__(f"{with_indefinite_article(state)} campaign cannot {event}", remedy=remedy)


def allows(state: CampaignState, event: CampaignEvent) -> bool:
    """Whether the table allows this event in this state."""
    return (state, event) in CAMPAIGN_TRANSITIONS


def apply(state: CampaignState, event: CampaignEvent) -> CampaignState:
    """The state after an event. Raises IllegalTransition if the table has no row for it."""
    following = CAMPAIGN_TRANSITIONS.get((state, event))
    if following is None:
        raise IllegalTransition(state, event)
    return following


class RecipientState(StrEnum):
    PENDING = "pending"
    DEFERRED = "deferred"
    ACCEPTED = "accepted"
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"
    UNKNOWN = "unknown"
    SKIPPED = "skipped"


class EvidenceRank(IntEnum):
    """What is known about one attempt, from its outcome and its statuses. The higher rank wins in any order.

    `FAILED` ranks below `DELIVERED`: a message that reached a phone has not failed. The numbers are stored.
    """

    ACCEPTED = 1
    SENT = 2
    FAILED = 3
    DELIVERED = 4
    READ = 5
