"""The hours in which a campaign may send, by local time: daily windows and weekdays, in one time zone or
several.

Law: sending is allowed at a moment only if every window and the day allow it in every zone. So a recipient
who has several possible zones gets nothing at an hour that one of them forbids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple
from zoneinfo import ZoneInfo

from drumbeat.engine.core.limits.daily_window import DailyWindow, day_starts_at, window_opens_at
from drumbeat.engine.core.limits.recipient_reasons import WORDS, RecipientReason

_QUIET = WORDS[RecipientReason.RECIPIENT_HOURS]
EVERY_DAY = frozenset(range(7))  # numbers as in `datetime.weekday`: Monday is 0
# Zones far apart may share no hour. Hours that do not open within a month count as never open. A clock change
# may open them later, but nobody waits half a year for a message.
HORIZON = timedelta(days=31)

# returns the first moment, not before the given one, that the rule allows
_Rule = Callable[[datetime], datetime]


@dataclass(frozen=True, slots=True)
class SendingHours:
    """The sending hours. Each of the `windows` must be open, and the local day must be one of `days`.

    A window that passes midnight begins on one day and ends on the next: each part counts by its own day.
    """

    windows: tuple[DailyWindow, ...] = ()
    days: frozenset[int] = EVERY_DAY

    def __post_init__(self) -> None:
        if not self.days or not self.days <= EVERY_DAY:
            raise ValueError("days must be some of the numbers 0 to 6")

    @property
    def is_always(self) -> bool:
        """Return whether no moment is forbidden."""
        return not self.windows and self.days == EVERY_DAY

    def opens_at(self, now: datetime, zones: Sequence[ZoneInfo]) -> datetime | None:
        """Return the first moment from `now` on when all zones allow sending, in UTC; None:
        not in HORIZON.
        """
        rules = [rule for zone in zones for rule in self._rules(zone)]
        moment = now.astimezone(UTC)
        end = moment + HORIZON
        while moment <= end:
            later = max((rule(moment) for rule in rules), default=moment)
            if later == moment:
                return moment
            moment = later  # no earlier moment is allowed by all rules
        return None

    def closes_at(self, now: datetime, zones: Sequence[ZoneInfo]) -> datetime | None:
        """Return the first moment from `now` on at which some zone forbids sending, in UTC; None: never."""
        moment = now.astimezone(UTC)
        closings = [closing for zone in zones for closing in self._closings(moment, zone)]
        return min(closings, default=None)

    def _rules(self, zone: ZoneInfo) -> list[_Rule]:
        rules: list[_Rule] = [partial(window_opens_at, window=window, zone=zone) for window in self.windows]
        return (
            rules if self.days == EVERY_DAY else [*rules, partial(_day_opens_at, days=self.days, zone=zone)]
        )

    def _closings(self, now: datetime, zone: ZoneInfo) -> list[datetime]:
        rests = [rest for window in self.windows if (rest := window.rest_of_day) is not None]
        closings = [window_opens_at(now, rest, zone) for rest in rests]
        if other_days := EVERY_DAY - self.days:
            closings.append(_day_opens_at(now, other_days, zone))
        return closings


def _day_opens_at(now: datetime, days: frozenset[int], zone: ZoneInfo) -> datetime:
    """Return the first moment, not before `now`, on one of the local `days`, in UTC."""
    today = now.astimezone(zone).date()
    if today.weekday() in days:
        return now.astimezone(UTC)
    following = (today + timedelta(days=ahead) for ahead in range(1, 8))
    return day_starts_at(next(day for day in following if day.weekday() in days), zone)


def wait_in_words(opens_at: datetime, now: datetime, zones: Sequence[ZoneInfo]) -> str:
    """Return until when the hours are closed, for people: in local time if there is one zone."""
    if len(zones) != 1:
        return f"{_QUIET} in one of {len(zones)} time zones until {opens_at:%Y-%m-%d %H:%M} UTC"
    local = opens_at.astimezone(zones[0])
    day = f"{local:%a} " if opens_at - now > timedelta(days=1) else ""
    return f"{_QUIET} until {day}{local:%H:%M} {zones[0].key}"


class Wait(NamedTuple):
    """The wait that `wait_in_words` named. In one `zone`, `time` is the local end, as `09:00` or `Mon 09:00`.

    If there are several `zones`, `until` is the moment of the end.
    """

    zone: str | None = None
    time: str = ""
    zones: int = 1
    until: datetime | None = None


_IN_ONE_ZONE = re.compile(rf"{_QUIET} until (?P<time>(?:\w{{3}} )?\d\d:\d\d) (?P<zone>\S+)")
_IN_SEVERAL_ZONES = re.compile(
    rf"{_QUIET} in one of (\d+) time zones until (\d{{4}}-\d\d-\d\d \d\d:\d\d) UTC"
)


def wait_of(words: str) -> Wait | None:
    """Return the wait that stored words tell of; None if they tell of another reason."""
    if found := _IN_SEVERAL_ZONES.search(words):
        return Wait(zones=int(found[1]), until=datetime.fromisoformat(f"{found[2]}+00:00"))
    if found := _IN_ONE_ZONE.search(words):
        return Wait(found["zone"], found["time"])
    return None
