"""The options that keep a message from a recipient: hours and days, frequency cap, size of the audience."""

from dataclasses import dataclass
from datetime import time
from typing import Any

from drumbeat.campaigns.options.readiness import Readiness, read_readiness
from drumbeat.campaigns.options.schedule import RECIPIENT, Schedule, read_window
from drumbeat.campaigns.options.table import CampaignOptions
from drumbeat.engine.core.limits.daily_window import DailyWindow
from drumbeat.engine.core.limits.frequency_cap import FrequencyCap
from drumbeat.engine.core.limits.sending_hours import EVERY_DAY, SendingHours
from drumbeat.engine.errors import UsageError

QUIET_EXAMPLE = "20:00-09:00"  # the example of a window would send at night if it were read as quiet hours
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class Guards:
    """The checked guards. `quiet` is two local times, from and until. In `days`, 0 is Monday."""

    schedule: Schedule
    quiet: tuple[time, time] | None
    days: frozenset[int]
    cap: FrequencyCap | None
    readiness: Readiness

    @property
    def recipient_hours(self) -> SendingHours | None:
        """Return the hours in the zone of each recipient; None if no rule is in it."""
        windows = []
        if self.quiet is not None:
            windows.append(DailyWindow.between(self.quiet[1], self.quiet[0]))
        if self.schedule.time_zone != RECIPIENT:
            return SendingHours(tuple(windows)) if windows else None
        if self.schedule.window_opens is not None and self.schedule.window_closes is not None:
            windows.append(DailyWindow.between(self.schedule.window_opens, self.schedule.window_closes))
        hours = SendingHours(tuple(windows), self.days)
        return None if hours.is_always else hours

    def columns(self) -> tuple[Any, ...]:
        """Return the arguments of the statement `set_guards` after the campaign."""
        quiet_from, quiet_until = self.quiet or (None, None)
        return (
            None if self.days == EVERY_DAY else sorted(self.days),
            quiet_from,
            quiet_until,
            None if self.cap is None else self.cap.messages,
            None if self.cap is None else int(self.cap.period.total_seconds()),
        )


def read_guards(options: CampaignOptions, schedule: Schedule) -> Guards:
    """Check and read the options. Raise a UsageError that names the one that is wrong."""
    if options.max_recipients is not None and options.max_recipients < 1:
        raise UsageError("{max_recipients} must be at least 1", remedy="give a number of people", values={})
    hours = options.quiet_hours
    quiet = None if hours is None else read_window(hours, "quiet_hours", QUIET_EXAMPLE)
    days = EVERY_DAY if options.days is None else read_days(options.days)
    cap = None if options.cap is None else read_cap(options.cap)
    return Guards(schedule, quiet, days, cap, read_readiness(options))


def read_days(text: str) -> frozenset[int]:
    """Read `mon-fri` or `mon,wed,sat`; a span may pass Sunday."""
    found: set[int] = set()
    for part in text.lower().replace(" ", "").split(","):
        first, _, last = part.partition("-")
        try:
            begin, end = _DAYS.index(first), _DAYS.index(last or first)
        except ValueError:
            raise UsageError(
                "{days} {text!r} cannot be read", remedy="write mon-fri or sat,sun", values={"text": text}
            ) from None
        found.update((begin + ahead) % 7 for ahead in range((end - begin) % 7 + 1))
    return frozenset(found)


def read_cap(text: str) -> FrequencyCap:
    """Read `2/7d`."""
    try:
        return FrequencyCap.parse(text)
    except ValueError:
        raise UsageError(
            "{cap} {text!r} cannot be read",
            remedy="write 2/7d for two messages in 7 days; the time is in days (d) or hours (h), up to 90d",
            values={"text": text},
        ) from None
