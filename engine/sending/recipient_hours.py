"""The hours of one campaign in the time zones of its ranges: they decide whether a range may be claimed now.

Law: a range is open only if its zones allow sending for the whole life of a claim, whatever the difference of
the two clocks. So no message is written in a quiet hour.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.clock_skew import TOLERANCE_NS, ClockSkew
from drumbeat.engine.core.lease import CLAIM_VALID_S
from drumbeat.engine.core.limits.guard import NO_COMMON_HOUR
from drumbeat.engine.core.limits.sending_hours import HORIZON, SendingHours, wait_in_words

KNOWN_FOR = timedelta(seconds=1)  # the time for which an answer "open" is used again
_TOLERANCE = timedelta(microseconds=TOLERANCE_NS // 1_000)
# A range is open if its hours hold from `_TOLERANCE` before now until so long after now.
AHEAD = KNOWN_FOR + timedelta(seconds=CLAIM_VALID_S) + _TOLERANCE
# Ranges become due so long after their hours begin. Earlier, a process whose clock is slow would repeatedly
# take one, find it closed and release it.
DUE_AFTER = 2 * _TOLERANCE


class Closed(NamedTuple):
    """The reason why a range may not be claimed, and the time when it becomes due."""

    due_at: datetime
    reason: str


class RecipientHours:
    """The hours of recipients. `zones` has every set of zones of the campaign's ranges, each a text with
    commas.

    `now` returns the database's time.
    """

    def __init__(self, hours: SendingHours, zones: Sequence[str], now: Callable[[], datetime]) -> None:
        self._hours = hours
        self._zones = zones
        self._now = now
        # the answer, and the time until which it holds
        self._known: dict[str, tuple[datetime, Closed | None]] = {}

    def closed(self, time_zones: str | None) -> Closed | None:
        """Return None if a range with these zones may be claimed now. A range without zones always may."""
        if time_zones is None or self._hours.is_always:
            return None
        now = self._now()
        known = self._known.get(time_zones)
        if known is None or now >= known[0]:
            known = self._known[time_zones] = self._look(now, time_zones)
        return known[1]

    def all_closed(self) -> Closed | None:
        """Return what the first range waits for, if no range may be claimed; else None."""
        first: Closed | None = None
        for zones in self._zones:
            closed = self.closed(zones)
            if closed is None:
                return None
            if first is None or closed.due_at < first.due_at:
                first = closed
        return first

    def _look(self, now: datetime, time_zones: str) -> tuple[datetime, Closed | None]:
        zones = [stored_zone(name) for name in time_zones.split(",")]
        first, last = now - _TOLERANCE, now + AHEAD
        opens_at = self._hours.opens_at(first, zones)
        if opens_at == first:
            opens_at = self._hours.opens_at(last, zones)
            if opens_at == last:
                return now + KNOWN_FOR, None
        if opens_at is None:
            return now + HORIZON, Closed(now + HORIZON, NO_COMMON_HOUR)
        due_at = opens_at + DUE_AFTER
        return due_at, Closed(due_at, wait_in_words(opens_at, now, zones))


def stored_zone(name: str) -> ZoneInfo:
    """Return the time zone with this name. Raises LookupError or ValueError if there is none."""
    try:
        return ZoneInfo(name)
    except OSError:  # a directory, such as Europe; other callers take an OSError for a lost connection
        raise ValueError(f"{name!r} is no time zone") from None


def database_now(clock_skew: ClockSkew) -> datetime:
    """Return the database's time, as this process last knew it."""
    return datetime.fromtimestamp((monotonic_ns() + clock_skew.stamp_offset_ns) / SECOND_NS, UTC)


ALWAYS = RecipientHours(SendingHours(), (), lambda: datetime.now(UTC))
