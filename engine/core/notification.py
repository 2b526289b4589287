"""The notifications: the changes that people are told of, the channels, and the advice that goes with them.

Law: people are not told of a change that a person ordered, since that person knows. They are told of each
cause once: what follows from a known cause is silent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from drumbeat.engine.core.states import CampaignState, ReasonCode

QUIET_S = 3600.0  # the same cause of the same campaign or number is told once within this time
GIVE_UP_S = 24 * 3600.0  # a message that nobody accepted for a day no longer helps anybody


class Channel(StrEnum):
    """The channels to people. Stored: never renamed."""

    WEBHOOK = "webhook"
    MAIL = "mail"


class NotificationEvent(StrEnum):
    """The kinds of events that people are told of. Stored and sent to programs: never renamed."""

    CAMPAIGN_FINISHED = "campaign_finished"
    CAMPAIGN_PAUSED = "campaign_paused"
    CAMPAIGN_EXPIRED = "campaign_expired"
    FAILURES_EXCEEDED = "failures_exceeded"
    NUMBER_STOPPED = "number_stopped"
    DATABASE_ROLLBACK_DETECTED = "database_rollback_detected"
    WARNING = "warning"
    TEST = "test"


_EVENTS = {
    CampaignState.FINISHED: NotificationEvent.CAMPAIGN_FINISHED,
    CampaignState.PAUSED: NotificationEvent.CAMPAIGN_PAUSED,
    CampaignState.EXPIRED: NotificationEvent.CAMPAIGN_EXPIRED,
}
# Reasons without a notification: a person paused the campaign, or the rollback is told once for all
# campaigns.
_SILENT = frozenset({ReasonCode.PAUSED_BY_HAND, ReasonCode.DATABASE_ROLLED_BACK})


def event_of(
    state: CampaignState, code: ReasonCode | None, *, to_one: bool = False
) -> NotificationEvent | None:
    """Return the event to tell when a campaign gets this state for this reason; None for no event.

    Of a message to one person (`to_one`), only a pause is told: its sender reads the result.
    """
    if code in _SILENT or (to_one and state is not CampaignState.PAUSED):
        return None
    return _EVENTS.get(state)


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification. `public_id` is the same in every attempt and on every channel.

    `campaign`, `external_id` (which may be missing), `state`, `counts` and `on_unknown` are None unless it is
    about a campaign. `counts` are read at the time of the attempt. `number` is the phone number ID, if it is
    about a number.
    """

    public_id: str
    event: NotificationEvent
    at: datetime
    reason: str = ""
    reason_code: str | None = None
    campaign: str | None = None
    number: str | None = None
    state: str | None = None
    recipients: int | None = None
    counts: Mapping[str, int] | None = None
    on_unknown: str | None = None
    external_id: str | None = None

    @property
    def needs_person(self) -> bool:
        """Return whether the campaign or number continues only if a person acts."""
        return self.event in _NEED_PERSON or (
            self.event is NotificationEvent.CAMPAIGN_FINISHED
            and self.reason_code == ReasonCode.IN_DOUBT
            and self.on_unknown == "hold"
        )


_NEED_PERSON = frozenset(
    {
        NotificationEvent.CAMPAIGN_PAUSED,
        NotificationEvent.NUMBER_STOPPED,
        NotificationEvent.DATABASE_ROLLBACK_DETECTED,
    }
)


@dataclass(frozen=True, slots=True)
class Advice:
    """The advice to a person: a sentence, and commands as words. NAME is the campaign or the number."""

    sentence: str
    commands: tuple[tuple[str, ...], ...] = ()


_LOOK = ("campaign", "report", "NAME")
_RESUME = ("campaign", "resume", "NAME")
_APPROVE = ("campaign", "approve", "NAME")
_PAUSES: dict[str, str] = {
    ReasonCode.AUTHENTICATION_FAILED: "Set a valid access token, then lift the pause.",
    ReasonCode.PERMISSION_MISSING: "Grant the missing permission to the access token, then lift the pause.",
    ReasonCode.ACCOUNT_REFUSED: "See the account's page at the service, then lift the pause.",
    ReasonCode.TEMPLATE_REFUSED: "See the template's page at the service, then lift the pause.",
    ReasonCode.RECIPIENTS_REFUSED: "Look at the errors in the report. If they are mended, lift the pause.",
    ReasonCode.ADDRESS_REFUSED: "Correct the address of the service or of the proxy, then lift the pause.",
    ReasonCode.FAILURES_EXCEEDED: "Look at the errors in the report. A resume begins a new budget.",
    ReasonCode.LIST_LOOKS_OLD: "Check where the list comes from. A resume sends to everybody else.",
    ReasonCode.CANARY_FAILED: "Look at the errors in the report. A resume sends to everybody else.",
    ReasonCode.CANARY_SILENT: "Look whether events arrive. A resume sends to everybody else.",
    ReasonCode.APPROVAL_NEEDED: "If the canary's results are good, approve the campaign.",
    ReasonCode.NUMBERS_STOPPED: "See the numbers' page at the service. If they are mended, lift the pause.",
}
_ENDS: dict[NotificationEvent, Advice] = {
    NotificationEvent.CAMPAIGN_FINISHED: Advice("Nothing is left to send.", (_LOOK,)),
    NotificationEvent.CAMPAIGN_EXPIRED: Advice("The remaining recipients were skipped.", (_LOOK,)),
    NotificationEvent.FAILURES_EXCEEDED: Advice(
        "The report lists the errors. A pause stops a campaign that still runs.",
        (_LOOK, ("campaign", "pause", "NAME")),
    ),
    NotificationEvent.NUMBER_STOPPED: Advice(
        "See the number's page at the service. Then let it send again, and resume its campaigns.",
        (("numbers", "list"), ("numbers", "resume", "NAME")),
    ),
    NotificationEvent.DATABASE_ROLLBACK_DETECTED: Advice(
        "Every campaign that could send is paused. Find out who got the message since the backup, then "
        "resume one campaign after the other.",
        (("campaign", "list"),),
    ),
    NotificationEvent.WARNING: Advice(
        "See its page at the service. Nothing is stopped by this warning itself."
    ),
    NotificationEvent.TEST: Advice("This is a test. Nothing is to be done."),
}
_SETTLE = Advice(
    "Statuses may still settle the recipients in doubt. Those that remain wait for your decision.",
    (("campaign", "settle", "NAME"), _LOOK),
)


def advice_for(notification: Notification) -> Advice:
    """Return the advice for a person about this notification."""
    if notification.event is NotificationEvent.CAMPAIGN_PAUSED:
        sentence = _PAUSES.get(notification.reason_code or "", "Mend the cause, then lift the pause.")
        needs_approval = notification.reason_code == ReasonCode.APPROVAL_NEEDED
        return Advice(sentence, (_LOOK, _APPROVE if needs_approval else _RESUME))
    if notification.needs_person and notification.event is NotificationEvent.CAMPAIGN_FINISHED:
        return _SETTLE
    return _ENDS[notification.event]


class Verdict(StrEnum):
    """The result of one attempt to deliver. All but GONE and DELIVERED are tried again."""

    DELIVERED = "delivered"
    UNREACHABLE = "unreachable"  # no answer, or one that says "not now"
    UNAUTHORISED = "unauthorised"
    REFUSED = "refused"
    GONE = "gone"  # the receiver wants no more of it (HTTP 410)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to deliver. `problem`: why it failed, or which part of it failed despite a delivery."""

    verdict: Verdict
    problem: str = ""


def verdict_of_status(status: int) -> Verdict:
    """Return the verdict on the HTTP status of a webhook's answer. Redirects are refusals:
    none is followed.
    """
    if 200 <= status < 300:
        return Verdict.DELIVERED
    if status in (401, 403):
        return Verdict.UNAUTHORISED
    if status == 410:
        return Verdict.GONE
    if status in (408, 425, 429) or status >= 500:
        return Verdict.UNREACHABLE
    return Verdict.REFUSED
