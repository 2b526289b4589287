"""The options that say in which order a campaign is sent, and what stops it when it fails."""

from __future__ import annotations

from dataclasses import dataclass

from drumbeat.campaigns.options.schedule import check_max_failed
from drumbeat.campaigns.options.table import CANARY_MAX_FAILED, CANARY_MINUTES, CampaignOptions
from drumbeat.engine.core.order import CHOICES, Priority
from drumbeat.engine.errors import UsageError

CANARY_MINUTES_MAX = 7 * 24 * 60.0  # the service repeats events for a week
CANARY_RECIPIENTS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Canary:
    """The first `recipients` are sent to, and their statuses awaited for up to `minutes`. The rest follows if
    at most `max_failed` of them failed, and if a person approves it, should `needs_approval` say so.
    """

    recipients: int
    max_failed: str
    minutes: float
    needs_approval: bool

    def check(self) -> None:
        """Raise a UsageError that names the option that is wrong."""
        if not 1 <= self.recipients <= CANARY_RECIPIENTS_MAX:
            raise UsageError(
                "{canary} {recipients} is not a number of recipients",
                remedy=f"write 1 to {CANARY_RECIPIENTS_MAX}, such as 500",
                values={"recipients": self.recipients},
            )
        if not 0 < self.minutes <= CANARY_MINUTES_MAX:
            raise UsageError(
                "{canary_minutes} {minutes} is not a valid time",
                remedy=f"write more than 0 minutes, and at most {CANARY_MINUTES_MAX:g}",
                values={"minutes": f"{self.minutes:g}"},
            )
        check_max_failed(self.max_failed, "canary_max_failed")


def canary_of(options: CampaignOptions) -> Canary | None:
    """Return the canary, if there is one. Raise UsageError for an option of a canary without a canary."""
    max_failed, minutes = options.canary_max_failed, options.canary_minutes
    if options.canary is None:
        if max_failed is not None or minutes is not None or options.canary_approve:
            raise UsageError(
                "the options of the canary need {canary}",
                remedy="add {canary} 500",
                values={},
            )
        return None
    return Canary(
        options.canary,
        CANARY_MAX_FAILED if max_failed is None else max_failed,
        CANARY_MINUTES if minutes is None else minutes,
        options.canary_approve,
    )


def check_order(options: CampaignOptions) -> None:
    """Check the options. Raise a UsageError that names the one that is wrong."""
    check_share(options.share)
    if options.pause_at_failed is not None:
        check_max_failed(options.pause_at_failed, "pause_at_failed")
    if (canary := canary_of(options)) is not None:
        canary.check()


def read_priority(text: str) -> Priority:
    """Return the priority. Raise UsageError unless a campaign may have it; `urgent` is for one person."""
    if text.lower() not in CHOICES:
        raise UsageError(
            "{priority} {text!r} is not a priority",
            remedy=f"choose {', '.join(CHOICES)}",
            values={"text": text},
        )
    return Priority[text.upper()]


def check_share(percent: int | None) -> None:
    if percent is not None and not 1 <= percent <= 100:
        raise UsageError(
            "{share} {percent} is not a percentage", remedy="write 1 to 100", values={"percent": percent}
        )
