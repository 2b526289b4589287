"""The daily window of a campaign: the part of the local day in which it may send, across clock changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_DAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True)
class DailyWindow:
    """The part of the local day in which sending is allowed: from `opens` until just before `closes`.

    Both are minutes since midnight. A window that closes before it opens spans midnight.
    """

    opens: int
    closes: int

    def __post_init__(self) -> None:
        if not (0 <= self.opens < _DAY_MINUTES and 0 < self.closes <= _DAY_MINUTES):
            raise ValueError("the times of a window must lie between 00:00 and 24:00")
        if self.opens == self.closes:
            raise ValueError("a window must open and close at different times")

    @classmethod
    def between(cls, opens: time, closes: time) -> DailyWindow:
        """Return the window between two local times, to the minute. One that closes at 00:00 ends the day."""
        return cls(_minute(opens), _minute(closes) or _DAY_MINUTES)

    def holds(self, local: time) -> bool:
        minute = _minute(local)
        if self.opens < self.closes:
            return self.opens <= minute < self.closes
        return minute >= self.opens or minute < self.closes

    @property
    def rest_of_day(self) -> DailyWindow | None:
        """Return the part of the day in which sending is not allowed; None if the window is the whole day."""
        closes = self.closes % _DAY_MINUTES
        return None if closes == self.opens else DailyWindow(closes, self.opens or _DAY_MINUTES)


WHOLE_DAY = DailyWindow(0, _DAY_MINUTES)


def _minute(local: time) -> int:
    return local.hour * 60 + local.minute


def window_opens_at(now: datetime, window: DailyWindow, zone: ZoneInfo) -> datetime:
    """Return the first moment, not before `now`, inside the window by the zone's local time. The result is in
    UTC.

    If the clocks skip the hour in which the window opens, it opens when they jump. If an hour comes twice and
    the window closed in the first one, it may stay closed in the second. The result is in UTC because Python
    compares and subtracts two times of one zone by their wall clocks, which is an hour off across a clock
    change.
    """
    local = now.astimezone(zone)
    if window.holds(local.time()):
        return now.astimezone(UTC)
    openings = (
        _opening(local.date() + timedelta(days=day), fold, window, zone) for day in (0, 1) for fold in (0, 1)
    )
    return min(opening for opening in openings if opening > now)


def day_starts_at(day: date, zone: ZoneInfo) -> datetime:
    """Return the first moment of a local day, in UTC."""
    return _opening(day, 0, WHOLE_DAY, zone)


def _opening(day: date, fold: int, window: DailyWindow, zone: ZoneInfo) -> datetime:
    """Return the opening on one local day, in UTC. `fold` selects the first or second of a repeated hour."""
    local = time(window.opens // 60, window.opens % 60, fold=fold)
    opening = datetime.combine(day, local, zone).astimezone(UTC)
    wall = opening.astimezone(zone)
    skipped = (wall.hour, wall.minute) != (local.hour, local.minute)
    return _jump(day, local, zone) if skipped else opening


def _jump(day: date, skipped: time, zone: ZoneInfo) -> datetime:
    """Return the moment, in UTC, at which the clocks skip the local time `skipped`."""
    low = datetime.combine(day, skipped.replace(fold=1), zone).astimezone(UTC)
    high = datetime.combine(day, skipped.replace(fold=0), zone).astimezone(UTC)
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = (low + (high - low) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
