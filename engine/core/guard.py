"""Guards: whether a message may be sent now, later or never (expiry, opt-out, daily window, pair rate).

Each guard returns `Pass`, `Defer(wait_s, reason)` or `Refuse(reason)`. Waits are durations, not times: the
guard's clock differs from the database's, and a duration means the same on both.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from engine.core.units import SECOND_NS

PAIR_EVERY_S = 6.0  # open point: one message per 6 s for one number and one recipient
PAIR_BURST = 45  # open point: this many at once, paid back by a longer wait afterwards
# Pairs remembered for one number. 5,000/s make 30,000 pairs within 6 s; a burst keeps a pair for up to 270 s.
PAIRS_MAX = 250_000
# Admissions between two purges. A purge checks twice as many pairs, so the map shrinks while it is in use.
_PURGE_PERIOD = 256
_OWING_MAX = 32  # pairs still in debt after which a purge gives up

_DAY_MINUTES = 24 * 60
OPTED_OUT = "opted out"


@dataclass(frozen=True, slots=True)
class Pass:
    """The message may be sent now."""


@dataclass(frozen=True, slots=True)
class Defer:
    """The message may be sent `wait_s` seconds from now at the earliest."""

    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The message may never be sent. The recipient is skipped with this reason."""

    reason: str


Verdict = Pass | Defer | Refuse
PASS = Pass()


def check_recipient(*, opted_out: bool, expires_ns: int | None, now_ns: int) -> Verdict:
    """Opt-out and expiry. Both times are of one clock. A campaign that expires at `now_ns` has expired."""
    if opted_out:
        return Refuse(OPTED_OUT)
    if expires_ns is not None and now_ns >= expires_ns:
        return Refuse("expired")
    return PASS


class PairGuard:
    """The pair rate for all recipients of one number: one message in `every_s`, and `burst` at once.

    A burst puts the recipient in debt. The guard keeps one integer for each recipient: the time at which its
    debt is paid. Recipients without debt are removed. At PAIRS_MAX the oldest one is removed too; the service
    still throttles that pair (131056).
    """

    def __init__(
        self, *, every_s: float = PAIR_EVERY_S, burst: int = PAIR_BURST, pairs_max: int = PAIRS_MAX
    ) -> None:
        if every_s <= 0 or burst < 1 or pairs_max < 1:
            raise ValueError("every_s must be above 0; burst and pairs_max must be at least 1")
        self._every_ns = int(every_s * SECOND_NS)
        self._credit_ns = self._every_ns * (burst - 1)
        self._pairs_max = pairs_max
        self._until_purge = _PURGE_PERIOD
        self._paid_ns: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._paid_ns)

    def admit(self, recipient: int, now_ns: int) -> Pass | Defer:
        """Whether the recipient may get a message at `now_ns` (monotonic). Pass counts as a message."""
        paid_ns = self._paid_ns.pop(recipient, now_ns)  # added again at the end: a purge checks the front
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
        """Remove recipients without debt, the oldest first. One with debt moves to the end.

        It gives up after a few recipients with debt: there is little to remove yet.
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
    """The part of the local day in which sending is allowed: from `opens`, up to but without `closes`.

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
        """The window between two local times, to the minute. One that closes at 00:00 ends with the day."""
        return cls(_minute(opens), _minute(closes) or _DAY_MINUTES)

    def holds(self, local: time) -> bool:
        minute = _minute(local)
        if self.opens < self.closes:
            return self.opens <= minute < self.closes
        return minute >= self.opens or minute < self.closes


def _minute(local: time) -> int:
    return local.hour * 60 + local.minute


def window_opens_at(now: datetime, window: DailyWindow, zone: ZoneInfo) -> datetime:
    """The first moment, not before `now`, inside the window by the zone's local time. The result is in UTC.

    If the clocks skip the hour in which the window opens, it opens when they jump. If an hour comes twice and
    the window closed in the first one, it may stay closed in the second. UTC because Python compares and
    subtracts two times of one zone by their wall clocks, which is an hour off across a clock change.
    """
    local = now.astimezone(zone)
    if window.holds(local.time()):
        return now.astimezone(UTC)
    openings = (
        _opening(local.date() + timedelta(days=day), fold, window, zone) for day in (0, 1) for fold in (0, 1)
    )
    return min(opening for opening in openings if opening > now)


def check_window(now: datetime, window: DailyWindow, zone: ZoneInfo) -> Pass | Defer:
    """Pass inside the window, otherwise Defer until it opens."""
    opens_at = window_opens_at(now, window, zone)
    if opens_at <= now:
        return PASS
    local = opens_at.astimezone(zone)
    return Defer((opens_at - now).total_seconds(), f"quiet hours until {local:%H:%M} {zone.key}")


def _opening(day: date, fold: int, window: DailyWindow, zone: ZoneInfo) -> datetime:
    """The opening on one local day, in UTC. `fold` selects the first or second of an hour that repeats."""
    local = time(window.opens // 60, window.opens % 60, fold=fold)
    opening = datetime.combine(day, local, zone).astimezone(UTC)
    wall = opening.astimezone(zone)
    skipped = (wall.hour, wall.minute) != (local.hour, local.minute)
    return _jump(day, local, zone) if skipped else opening


def _jump(day: date, skipped: time, zone: ZoneInfo) -> datetime:
    """The moment, in UTC, at which the clocks skip the local time `skipped`."""
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
