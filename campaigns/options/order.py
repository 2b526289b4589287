"""The options of `campaign create` that say in which order it sends, and what stops it when it fails."""

from dataclasses import dataclass
from typing import Any

from drumbeat.campaigns.options.schedule import check_max_failed
from drumbeat.engine.core.order import CHOICES, Priority
from drumbeat.engine.errors import UsageError

CANARY_MAX_FAILED = "5%"
# The service reports nearly every status within a quarter of an hour.
CANARY_MINUTES = 15.0
CANARY_MINUTES_MAX = 7 * 24 * 60.0  # the service repeats events for a week
CANARY_RECIPIENTS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class CanaryOptions:
    """The first `recipients` are sent to, and their statuses awaited for up to `minutes`. The rest follows if
    at most `max_failed` of them failed, and if a person approves it, should `needs_approval` say so.
    """

    recipients: int
    max_failed: str = CANARY_MAX_FAILED
    minutes: float = CANARY_MINUTES
    needs_approval: bool = False

    def check(self) -> None:
        if not 1 <= self.recipients <= CANARY_RECIPIENTS_MAX:
            raise UsageError(
                f"--canary {self.recipients} is not a number of recipients",
                remedy=f"write 1 to {CANARY_RECIPIENTS_MAX}, such as 500",
            )
        if not 0 < self.minutes <= CANARY_MINUTES_MAX:
            raise UsageError(
                f"--canary-minutes {self.minutes:g} is not a valid time",
                remedy=f"write more than 0 minutes, and at most {CANARY_MINUTES_MAX:g}",
            )
        check_max_failed(self.max_failed, "--canary-max-failed")


@dataclass(frozen=True, slots=True)
class OrderOptions:
    """The options of the order. `engine.core.order` explains `share_percent`. `pause_at_failed` is `N` or
    `N%` of all recipients.
    """

    priority: Priority = Priority.NORMAL
    share_percent: int | None = None
    pause_at_failed: str | None = None
    canary: CanaryOptions | None = None

    def check(self) -> None:
        """Check the options. Raise a UsageError that names the one that is wrong."""
        check_share(self.share_percent)
        if self.pause_at_failed is not None:
            check_max_failed(self.pause_at_failed, "--pause-at-failed")
        if self.canary is not None:
            self.canary.check()

    def identity(self) -> dict[str, Any]:
        """Return the given options by name. The priority of a message is not among them."""
        given: dict[str, Any] = {"--share": self.share_percent, "--pause-at-failed": self.pause_at_failed}
        if self.priority.word in CHOICES and self.priority is not Priority.NORMAL:
            given["--priority"] = self.priority.word
        if (canary := self.canary) is not None:
            given["--canary"] = canary.recipients
            given["--canary-max-failed"] = canary.max_failed
            given["--canary-minutes"] = canary.minutes
            given["--canary-approve"] = canary.needs_approval or None
        return {name: value for name, value in given.items() if value is not None}


NO_ORDER = OrderOptions()


def read_priority(text: str) -> Priority:
    """Return the priority. Raise UsageError unless a campaign may have it; `urgent` is for one person."""
    if text.lower() not in CHOICES:
        raise UsageError(f"--priority {text!r} is not a priority", remedy=f"choose {', '.join(CHOICES)}")
    return Priority[text.upper()]


def check_share(percent: int | None) -> None:
    if percent is not None and not 1 <= percent <= 100:
        raise UsageError(f"--share {percent} is not a percentage", remedy="write 1 to 100")
