"""The pace of one number: evenly spaced permits, and a guard that no second ever holds too many writes.

Law: the write `limit` places earlier lies at least one second back, by the times of writing; a long stall is
not caught up. Two layers keep it. The schedule spaces permits evenly and forgives a bounded lateness, so that
late wake-ups neither lose rate nor pile up: what is late is made up for at twice the pace, not at once. The
ring remembers actual writes, or their later arrivals where those are known, in the order of these times, and
has the last word. Times are integers, nanoseconds of one monotonic clock.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from math import ceil

SECOND_NS = 1_000_000_000

# The service judges arrivals, and the way there compresses and stretches gaps by milliseconds. At 0.995 of
# the limit, `limit` requests span 1.005 s: what the guard keeps apart, and 3 ms by which lateness falls each
# second. Costs 0.5 %.
HEADROOM = 0.995
# The guard's second. The spare is for short delays on the way; longer ones show in late replies
# (`engine.core.arrivals`).
GUARD_SPARE_NS = 2_000_000
GUARD_SECOND_NS = SECOND_NS + GUARD_SPARE_NS
# Lateness that the schedule forgives. A process that shares its core is set aside for 10-80 ms at a time. The
# ring repeats each stall in every later second, a little shorter, and the next stall adds to it: with 5 ms of
# slack that costs half of 1,000/s, with 60 some 0.06 % more than with 80. The ring bounds every second all
# the same; a longer stall is lost.
SLACK_NS = 80_000_000
# How much of what is late may be written at once: a full loop turns only every few milliseconds. The rest
# follows at twice the pace. All of it at once would come back every second, because the ring repeats it.
BURST_NS = 10_000_000
# The first second after a pause goes at this much of the pace, and the pause is not made up for: connections
# open, sessions begin, and requests written up to 50 ms apart arrive together. Each beginning costs 0.05 s.
FIRST_SECOND = 0.95
PAUSE_NS = SECOND_NS
# Bounds the ring (one integer a place); no service of this family comes near it.
LIMIT_PER_S_MAX = 100_000.0
# Entries that the ring holds beyond its places: what is past is cut off in one go.
RING_SPARE = 1_024
LONG_AGO_NS = -(2**62)


class PaceBucket:
    """Permits of one number. Starts empty: the first permit comes one interval after `now_ns`."""

    __slots__ = (
        "_burst_ns",
        "_due_ns",
        "_first",
        "_first_ns",
        "_guard_ns",
        "_held_ns",
        "_interval_ns",
        "_last_ns",
        "_limit_per_s",
        "_pause_ns",
        "_places",
        "_rate_per_s",
        "_ring",
        "_slack_ns",
        "_spaced_ns",
        "_writes",
    )

    def __init__(
        self, limit_per_s: float, now_ns: int, *, slack_ns: int = SLACK_NS, burst_ns: int = BURST_NS
    ) -> None:
        self._slack_ns, self._burst_ns = slack_ns, burst_ns
        self._pause_ns = max(PAUSE_NS, slack_ns)
        self._ring: list[int] = []  # ascending
        self._writes = 0
        self._held_ns = self._spaced_ns = self._last_ns = now_ns
        self._set_guard(limit_per_s)
        self._set_pace(limit_per_s * HEADROOM)
        self._due_ns = now_ns + self._interval_ns
        self._begin()

    @property
    def limit_per_s(self) -> float:
        return self._limit_per_s

    @property
    def rate_per_s(self) -> float:
        """The pace aimed at: at most HEADROOM of the limit."""
        return self._rate_per_s

    @property
    def writes(self) -> int:
        """How many permits were taken."""
        return self._writes

    @property
    def last_ns(self) -> int:
        """When the last permit was taken, of those that were."""
        return self._last_ns

    def written_between(self, begin_ns: int, end_ns: int) -> int:
        """How many permits were taken from `begin_ns` until before `end_ns`, as far as the ring remembers: a
        second, at least.
        """
        return max(0, bisect_left(self._ring, end_ns) - bisect_left(self._ring, begin_ns))

    def wait_ns(self, now_ns: int) -> int:
        """Nanoseconds until the next write is permitted; 0 means now."""
        guarded_ns = self._ring[-self._places] + self._guard_ns - now_ns
        return max(0, guarded_ns, max(self._due_ns, self._held_ns, self._spaced_ns) - now_ns)

    def available(self, now_ns: int) -> int:
        """How many writes the schedule permits in a row at this moment; the ring may still refuse some."""
        if self.wait_ns(now_ns):
            return 0
        interval_ns = self._interval_ns + (self._first_ns if self._first else 0)
        spaced_ns = max(self._spaced_ns, now_ns - self._burst_ns)
        late_ns = now_ns - self._counted_from(now_ns)
        return 1 + min(late_ns // interval_ns, (now_ns - spaced_ns) // (self._interval_ns >> 1))

    def take(self, now_ns: int) -> bool:
        """Record a write at this moment, if it is permitted. The write must follow without a pause."""
        if now_ns < self._due_ns or now_ns < self._held_ns or now_ns < self._spaced_ns:
            return False
        ring = self._ring
        if now_ns < ring[-self._places] + self._guard_ns:
            return False
        ring.append(now_ns)
        self._last_ns = now_ns
        if len(ring) >= self._places + RING_SPARE:
            del ring[: -self._places]
        self._writes += 1
        if now_ns - self._due_ns > self._pause_ns:
            self._begin()
        self._due_ns = self._counted_from(now_ns) + self._interval_ns
        if self._first:
            self._first -= 1
            self._due_ns += self._first_ns
        if self._spaced_ns < now_ns - self._burst_ns:
            self._spaced_ns = now_ns - self._burst_ns
        self._spaced_ns += self._interval_ns >> 1
        return True

    def set_limit(self, limit_per_s: float, now_ns: int) -> None:
        """A new limit, at its full pace. A lower one holds at once: writes of the last second count."""
        self._set_guard(limit_per_s)
        self.set_rate(limit_per_s * HEADROOM, now_ns)
        if not self._writes:
            self._begin()

    def set_rate(self, rate_per_s: float, now_ns: int) -> None:
        """A new pace under the same limit; more than HEADROOM of it is cut to that."""
        self._set_pace(rate_per_s)
        self._due_ns = min(self._due_ns, now_ns + self._interval_ns)
        self._spaced_ns = min(self._spaced_ns, now_ns + (self._interval_ns >> 1))

    def arrived(self, written_ns: int, counted_ns: int) -> None:
        """The request written at `written_ns` reached the service later: it counts from `counted_ns`, which
        has passed. No place of the ring moves earlier. A write that is unknown or long past changes nothing.
        """
        ring = self._ring
        place = bisect_left(ring, written_ns)
        if place < len(ring) and ring[place] == written_ns:
            del ring[place]
            insort(ring, counted_ns)

    def hold_until(self, until_ns: int) -> None:
        """No permit before `until_ns`, whatever limits and rates are set meanwhile."""
        self._held_ns = max(self._held_ns, until_ns)

    def _counted_from(self, now_ns: int) -> int:
        """When the oldest permit still granted was due: lateness beyond the slack, in a hold or in a pause is
        lost.
        """
        if now_ns - self._due_ns > self._pause_ns:
            return now_ns
        oldest_ns = now_ns - self._slack_ns
        if oldest_ns < self._held_ns:
            oldest_ns = self._held_ns
        return oldest_ns if oldest_ns > self._due_ns else self._due_ns

    def _begin(self) -> None:
        """A pause is over: the next writes are those of a first second."""
        self._first = int(self._rate_per_s * FIRST_SECOND)
        self._first_ns = int(self._interval_ns * (1 / FIRST_SECOND - 1))

    def _set_guard(self, limit_per_s: float) -> None:
        if not 0 < limit_per_s <= LIMIT_PER_S_MAX:
            raise ValueError(
                f"a limit is above 0 and at most {LIMIT_PER_S_MAX:.0f} per second, not {limit_per_s}"
            )
        self._limit_per_s = limit_per_s
        self._places = max(1, int(limit_per_s))
        self._guard_ns = GUARD_SECOND_NS if limit_per_s >= 1 else int(GUARD_SECOND_NS / limit_per_s)
        self._grow_ring()

    def _set_pace(self, rate_per_s: float) -> None:
        if rate_per_s <= 0:
            raise ValueError(f"a rate is above 0 per second, not {rate_per_s}")
        self._rate_per_s = min(rate_per_s, self._limit_per_s * HEADROOM)
        self._interval_ns = ceil(SECOND_NS / self._rate_per_s)

    def _grow_ring(self) -> None:
        """Make room for the places of a higher limit.

        Writes that a smaller ring forgot are no loss: the guard of the lower limit held them at least a
        second before the last one.
        """
        self._ring[:0] = [LONG_AGO_NS] * (self._places - len(self._ring))
