"""The pace of one number: evenly spaced permits, and a guard that no second ever holds too many writes.

Law: the write `limit` places earlier lies at least one second back, by the times of writing; a long stall is
not caught up. Two layers keep it. The schedule spaces permits evenly and forgives a bounded lateness, so that
late wake-ups neither lose rate nor pile up: what is late is made up for at twice the pace, not at once. The
ring remembers actual writes and has the last word. Times are integers, nanoseconds of one monotonic clock.
"""

from __future__ import annotations

from math import ceil

SECOND_NS = 1_000_000_000

# The way to the service compresses and stretches gaps by milliseconds, and the service judges arrivals. At
# 0.992 of the limit, `limit` requests span 1.008 s and a jitter of 8 ms meets no throttle; costs 0.8 %.
HEADROOM = 0.992
# The guard's second. Wider than a second for the same jitter, narrower than the schedule's 1.008 s: it
# corrects bursts after stalls and never becomes the pace.
GUARD_SECOND_NS = 1_007_000_000
# Of it, what an arrival that is known needs no more.
ARRIVAL_SPARE_NS = GUARD_SECOND_NS - SECOND_NS - 1_000_000
# Lateness that the schedule forgives. A process that shares its core is set aside for 10-70 ms at a time;
# with 5 ms that cost half of 1,000/s. The ring bounds every second all the same; a longer stall is lost.
SLACK_NS = 60_000_000
# What may be written at once of what is late: a loop that is full turns in some milliseconds. The rest
# follows at twice the pace. All of it at once came back every second, since the ring repeats it.
BURST_NS = 10_000_000
# The first second after a pause goes at this much of the pace, and the pause is not made up for. Connections
# open, sessions begin, and what was written apart arrives together, by up to 50 ms; costs 0.05 s of each
# beginning.
FIRST_SECOND = 0.95
PAUSE_NS = SECOND_NS
# Bounds the ring (one integer a place); no service of this family comes near it.
LIMIT_PER_S_MAX = 100_000.0


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
        self._ring: list[int | None] = []
        self._writes = 0
        self._held_ns = self._spaced_ns = now_ns
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

    def wait_ns(self, now_ns: int) -> int:
        """Nanoseconds until the next write is permitted; 0 means now."""
        earlier = self._ring[(self._writes - self._places) % len(self._ring)]
        guarded_ns = 0 if earlier is None else earlier + self._guard_ns - now_ns
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
        earlier = ring[(self._writes - self._places) % len(ring)]
        if earlier is not None and now_ns < earlier + self._guard_ns:
            return False
        ring[self._writes % len(ring)] = now_ns
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

    def arrived_late(self, since_ns: int, until_ns: int) -> None:
        """What was written from `since_ns` on reached the service at `until_ns`, all at once, and it counts
        by arrival: so does the ring from now on. It cannot be later any more, so that of the guard's spare
        time nothing but a millisecond is kept for it.
        """
        counted_ns = until_ns - ARRIVAL_SPARE_NS
        for back in range(1, min(self._writes, self._places) + 1):
            place = (self._writes - back) % len(self._ring)
            written_ns = self._ring[place]
            if written_ns is None or written_ns < since_ns:
                return
            self._ring[place] = max(written_ns, counted_ns)

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
        known = len(self._ring)
        if known >= self._places:
            return
        grown: list[int | None] = [None] * self._places
        for write in range(max(0, self._writes - known), self._writes):
            grown[write % self._places] = self._ring[write % known]
        self._ring = grown
