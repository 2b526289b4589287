"""The states of campaigns and recipients, the effect of each event on a campaign, and the reasons of states.

The state of a recipient is never set: the database derives it from what is recorded of its attempts
(`present_state` in `engine/store/sql/schema`). Tests compare it with the model `tests/model/attempts.py`.
"""

from enum import IntEnum, StrEnum
from typing import NamedTuple

from drumbeat.engine.errors import (
    AuthenticationError,
    ConfigurationError,
    DrumbeatError,
    Incomplete,
    TryLater,
    UsageError,
)


class CampaignState(StrEnum):
    DRAFT = "draft"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


def with_indefinite_article(state: str) -> str:
    """Return a state with its article: `a paused`, `an expired`."""
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
    """An event that the campaign's state does not allow."""

    code = "illegal_transition"

    def __init__(self, state: CampaignState, event: CampaignEvent) -> None:
        self.state = state
        self.event = event
        known = ", ".join(word for word in _COMMANDS if (state, word) in CAMPAIGN_TRANSITIONS)
        remedy = f"possible now: {known}" if known else "it has ended"
        super().__init__(f"{with_indefinite_article(state)} campaign cannot {event}", remedy=remedy)


def allows(state: CampaignState, event: CampaignEvent) -> bool:
    """Return whether the table allows this event in this state."""
    return (state, event) in CAMPAIGN_TRANSITIONS


def apply(state: CampaignState, event: CampaignEvent) -> CampaignState:
    """Return the state after an event. Raises IllegalTransition if the table has no row for it."""
    following = CAMPAIGN_TRANSITIONS.get((state, event))
    if following is None:
        raise IllegalTransition(state, event)
    return following


class ReasonCode(StrEnum):
    """The reasons why a campaign is paused, waits or ended. Stored beside the words, and shown in JSON: never
    renamed.
    """

    PLANNING = "planning"
    AUTHENTICATION_FAILED = "authentication_failed"
    PERMISSION_MISSING = "permission_missing"
    ACCOUNT_REFUSED = "account_refused"
    TEMPLATE_REFUSED = "template_refused"
    TEMPLATE_CHANGED = "template_changed"
    RECIPIENTS_REFUSED = "recipients_refused"
    NUMBERS_STOPPED = "numbers_stopped"
    ADDRESS_REFUSED = "address_refused"
    FAILURES_EXCEEDED = "failures_exceeded"
    LIST_LOOKS_OLD = "list_looks_old"
    CANARY_FAILED = "canary_failed"
    CANARY_SILENT = "canary_silent"
    APPROVAL_NEEDED = "approval_needed"
    START_APPROVAL_NEEDED = "start_approval_needed"
    PAUSED_BY_HAND = "paused_by_hand"
    DATABASE_ROLLED_BACK = "database_rolled_back"
    UNREADABLE = "unreadable"
    CANARY = "canary"
    WINDOW_CLOSED = "window_closed"
    MESSAGING_LIMIT = "messaging_limit"
    RECIPIENT_HOURS = "recipient_hours"
    DISK_FULL = "disk_full"
    RESULTS_NOT_STORED = "results_not_stored"
    HEADER_FILE = "header_file"
    SERVICE_AWAY = "service_away"
    NOBODY_SENDS = "nobody_sends"
    RESENDING = "resending"
    REOPENED = "reopened"
    IN_DOUBT = "in_doubt"
    EXPIRED = "expired"
    CANCELLED_BY_HAND = "cancelled_by_hand"


class Reason(NamedTuple):
    """The meaning of a reason code, and the error with which a run of the campaign ends.

    The class of the error has the exit code.
    """

    meaning: str
    error: type[DrumbeatError] = TryLater


REASONS: dict[ReasonCode, Reason] = {
    ReasonCode.PLANNING: Reason("its recipients are not all stored yet"),
    ReasonCode.START_APPROVAL_NEEDED: Reason("a person asked to start it, and another one must approve that"),
    # pauses
    ReasonCode.AUTHENTICATION_FAILED: Reason("the service refused the access token", AuthenticationError),
    ReasonCode.PERMISSION_MISSING: Reason("the access token lacks a permission", AuthenticationError),
    ReasonCode.ACCOUNT_REFUSED: Reason("the service blocked or locked the account, or it is unpaid"),
    ReasonCode.TEMPLATE_REFUSED: Reason("the service does not send the template"),
    ReasonCode.TEMPLATE_CHANGED: Reason(
        "the template changed, and its messages would be refused", ConfigurationError
    ),
    ReasonCode.RECIPIENTS_REFUSED: Reason("many recipients in a row were refused"),
    ReasonCode.NUMBERS_STOPPED: Reason("the service stopped all of its numbers"),
    ReasonCode.ADDRESS_REFUSED: Reason("not the service answered, but a proxy or another server"),
    ReasonCode.FAILURES_EXCEEDED: Reason("more recipients failed than its limit allows"),
    ReasonCode.LIST_LOOKS_OLD: Reason("many people on its list are not on the network"),
    ReasonCode.CANARY_FAILED: Reason("too many recipients of its canary failed"),
    ReasonCode.CANARY_SILENT: Reason("too few recipients of its canary have a status"),
    ReasonCode.APPROVAL_NEEDED: Reason("its canary is healthy and waits for approval"),
    ReasonCode.PAUSED_BY_HAND: Reason("a person paused it"),
    ReasonCode.DATABASE_ROLLED_BACK: Reason("the database was restored, copied or failed over"),
    ReasonCode.UNREADABLE: Reason("the stored campaign cannot be read"),
    # a running campaign that does not send now, or not to all recipients
    ReasonCode.CANARY: Reason("only its canary is sent to so far"),
    ReasonCode.WINDOW_CLOSED: Reason("its daily sending window is closed"),
    ReasonCode.MESSAGING_LIMIT: Reason("the messaging limits of its numbers are used up"),
    ReasonCode.RECIPIENT_HOURS: Reason("it is quiet hours for all of its recipients"),
    ReasonCode.DISK_FULL: Reason("the disk is nearly full"),
    ReasonCode.RESULTS_NOT_STORED: Reason("outcomes cannot be stored"),
    ReasonCode.HEADER_FILE: Reason("a file of its header is not at the service, and cannot be uploaded"),
    ReasonCode.SERVICE_AWAY: Reason("the service does not answer, or answers that it fails"),
    ReasonCode.NOBODY_SENDS: Reason("no process sends with any of its numbers"),
    # a campaign that runs again
    ReasonCode.RESENDING: Reason("recipients in doubt are sent to again"),
    ReasonCode.REOPENED: Reason("recipients in doubt were not accepted after all"),
    # ends
    ReasonCode.IN_DOUBT: Reason("it finished, and some recipients are in doubt", Incomplete),
    ReasonCode.EXPIRED: Reason("its time ended before everybody was sent to", Incomplete),
    ReasonCode.CANCELLED_BY_HAND: Reason("a person cancelled it", Incomplete),
}
# Codes of a running campaign that waits: `CampaignReader` sets and clears them.
WAITS = frozenset(
    {
        ReasonCode.WINDOW_CLOSED,
        ReasonCode.MESSAGING_LIMIT,
        ReasonCode.RECIPIENT_HOURS,
        ReasonCode.DISK_FULL,
        ReasonCode.RESULTS_NOT_STORED,
        ReasonCode.HEADER_FILE,
        ReasonCode.SERVICE_AWAY,
    }
)


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
    """The evidence about one attempt, from its outcome and its statuses. The higher rank wins in any order.

    `FAILED` ranks below `DELIVERED`: a message that reached a phone has not failed. The numbers are stored.
    """

    ACCEPTED = 1
    SENT = 2
    FAILED = 3
    DELIVERED = 4
    READ = 5
