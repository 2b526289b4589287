"""What may not be sent now, or not at all: expiry, opt-out, the hours of the day, the pair's pace.

Each answers `Pass`, `Defer(wait_s, reason)` or `Refuse(reason)`. Waits are lengths, not moments: the guard
works on clocks that differ from the database's, and only lengths mean the same on all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from engine.core.units import SECOND_NS

PAIR_EVERY_S = 6.0  # open point: one message per 6 s for one number and one recipient
PAIR_BURST = 45  # open point: a burst borrowed from the future
# Pairs remembered for one number: 5,000/s live within 6 s are 30,000; bursts hold an entry up to 270 s.
PAIRS_MAX = 250_000
# Admissions between two purges, each of which looks at twice as many: so the map shrinks while it is used.
_PURGE_PERIOD = 256
_OWING_MAX = 32  # that a purge meets before it gives up

_DAY_MINUTES = 24 * 60
OPTED_OUT = "opted out"


@dataclass(frozen=True, slots=True)
class Pass:
    """Nothing speaks against it."""


@dataclass(frozen=True, slots=True)
class Defer:
    """Not before `wait_s` seconds from now."""

    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Never: the recipient is skipped with this reason."""

    reason: str


Verdict = Pass | Defer | Refuse
PASS = Pass()


def check_recipient(*, opted_out: bool, expires_ns: int | None, now_ns: int) -> Verdict:
    """Opt-out and expiry, on one clock. A campaign that expires now has expired."""
    if opted_out:
        return Refuse(OPTED_OUT)
    if expires_ns is not None and now_ns >= expires_ns:
        return Refuse("expired")
    return PASS


class PairGuard:
    """The pace of each recipient of one number: `every_s` apart, `burst` at once borrowed from the future.

    Keeps one integer for each recipient, the time at which its debt is paid; one without debt is forgotten.
    At PAIRS_MAX an old one is forgotten too: the service still throttles that pair (131056).
    """

    def __init__(
        self, *, every_s: float = PAIR_EVERY_S, burst: int = PAIR_BURST, pairs_max: int = PAIRS_MAX
    ) -> None:
        if every_s <= 0 or burst < 1 or pairs_max < 1:
            raise ValueError("a pair's pace needs every_s above 0, a burst and room of at least 1")
        self._every_ns = int(every_s * SECOND_NS)
        self._credit_ns = self._every_ns * (burst - 1)
        self._pairs_max = pairs_max
        self._until_purge = _PURGE_PERIOD
        self._paid_ns: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._paid_ns)

    def admit(self, recipient: int, now_ns: int) -> Pass | Defer:
        """Whether the recipient may be written to now (monotonic nanoseconds); Pass counts as a message."""
        paid_ns = self._paid_ns.pop(recipient, now_ns)  # back at the end, behind what the purge looks at next
        if paid_ns < now_ns:
            paid_ns = now_ns
        elif paid_ns - now_ns > self._credit_ns:
            self._paid_ns[recipient] = paid_ns
            return Defer((paid_ns - now_ns - self._credit_ns) / SECOND_NS, "pair rate")
        self._until_purge -= 1
        if not self._until_purge:
            self._purge(now_ns)
        elif len(self._paid_ns) >= self._pairs_max:
            del self._paid_ns[next(iter(self._paid_ns))]
        self._paid_ns[recipient] = paid_ns + self._every_ns
        return PASS

    def _purge(self, now_ns: int) -> None:
        """Forget recipients without debt, the oldest first; one with debt goes back behind the others.

        It gives up when it has met a few with debt: there is little to forget yet.
        """
        self._until_purge = _PURGE_PERIOD
        owing = 0
        for recipient in list(islice(self._paid_ns, 2 * _PURGE_PERIOD)):
            if owing >= _OWING_MAX:
                return
            paid_ns = self._paid_ns.pop(recipient)
            if paid_ns > now_ns and len(self._paid_ns) < self._pairs_max - 1:
                self._paid_ns[recipient] = paid_ns
                owing += 1


@dataclass(frozen=True, slots=True)
class DailyWindow:
    """Hours of the local day in which sending is allowed, in minutes: opens included, closes not.

    A window that closes before it opens spans midnight.
    """

    opens: int
    closes: int

    def __post_init__(self) -> None:
        if not (0 <= self.opens < _DAY_MINUTES and 0 < self.closes <= _DAY_MINUTES):
            raise ValueError("the hours of a window lie between 00:00 and 24:00")
        if self.opens == self.closes:
            raise ValueError("a window opens and closes at different times")

    @classmethod
    def between(cls, opens: time, closes: time) -> DailyWindow:
        """The window between two local times, to the minute; one that closes at 00:00 ends with the day."""
        return cls(_minute(opens), _minute(closes) or _DAY_MINUTES)

    def holds(self, local: time) -> bool:
        minute = _minute(local)
        if self.opens < self.closes:
            return self.opens <= minute < self.closes
        return minute >= self.opens or minute < self.closes


def _minute(local: time) -> int:
    return local.hour * 60 + local.minute


def window_opens_at(now: datetime, window: DailyWindow, zone: ZoneInfo) -> datetime:
    """The first moment, from now on, inside the window by the clocks of the zone, in UTC: now itself if open.

    On the day that an hour is skipped, a window that opens in it opens when the clocks jump. On the day that
    an hour comes twice, a window that closed in the first of them is not promised for the second. The answer
    is in UTC because two times of one zone compare and subtract as clocks on the wall, an hour off there.
    """
    local = now.astimezone(zone)
    if window.holds(local.time()):
        return now.astimezone(UTC)
    openings = (
        _opening(local.date() + timedelta(days=day), fold, window, zone) for day in (0, 1) for fold in (0, 1)
    )
    return min(opening for opening in openings if opening > now)


def check_window(now: datetime, window: DailyWindow, zone: ZoneInfo) -> Pass | Defer:
    """Pass inside the window, else the wait until it opens."""
    opens_at = window_opens_at(now, window, zone)
    if opens_at <= now:
        return PASS
    local = opens_at.astimezone(zone)
    return Defer((opens_at - now).total_seconds(), f"quiet hours until {local:%H:%M} {zone.key}")


def _opening(day: date, fold: int, window: DailyWindow, zone: ZoneInfo) -> datetime:
    """The opening of one local day, in UTC: first or second where the hour comes twice."""
    local = time(window.opens // 60, window.opens % 60, fold=fold)
    opening = datetime.combine(day, local, zone).astimezone(UTC)
    wall = opening.astimezone(zone)
    skipped = (wall.hour, wall.minute) != (local.hour, local.minute)
    return _jump(day, local, zone) if skipped else opening


def _jump(day: date, skipped: time, zone: ZoneInfo) -> datetime:
    """The moment, in UTC, at which the clocks jump over a local time."""
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
