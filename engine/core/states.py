"""The states of campaigns and recipients, and what each event does to a campaign: one table, one function.

The state of a recipient is never set: the database derives it from what is known of its attempts
(`present_state` in `engine/store/sql/migrations`). `tests/model/tries.py` is the model that tests hold it to.
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
    """`a paused`, `an expired`."""
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


# A paused campaign whose time has not come goes back to `scheduled`, so that lifting a pause never starts it
# early. A draft may be paused too: only a person's `resume` starts it then. `reopen` is for a resend of
# recipients in doubt after the end.
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

# What a person can say; the other events happen.
_COMMANDS = (CampaignEvent.START, CampaignEvent.PAUSE, CampaignEvent.RESUME, CampaignEvent.CANCEL)


class IllegalTransition(UsageError):
    """An event that a campaign in this state does not know."""

    def __init__(self, state: CampaignState, event: CampaignEvent) -> None:
        self.state = state
        self.event = event
        known = ", ".join(word for word in _COMMANDS if (state, word) in CAMPAIGN_TRANSITIONS)
        remedy = f"possible now: {known}" if known else "it has ended"
        super().__init__(f"{with_indefinite_article(state)} campaign cannot {event}", remedy=remedy)


def allows(state: CampaignState, event: CampaignEvent) -> bool:
    """Whether the table has a row."""
    return (state, event) in CAMPAIGN_TRANSITIONS


def apply(state: CampaignState, event: CampaignEvent) -> CampaignState:
    """The state after an event; IllegalTransition where the table has no row."""
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
    """What is known of one attempt, as ranks: the higher one wins, whatever came first.

    `FAILED` stands below `DELIVERED`: a message seen on a phone has not failed. The numbers are stored.
    """

    ACCEPTED = 1
    SENT = 2
    FAILED = 3
    DELIVERED = 4
    READ = 5
