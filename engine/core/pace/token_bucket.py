"""The pace of one number: evenly spaced permits, and never more writes in any second than the limit.

Two rules hold together. The schedule spaces permits evenly and forgives bounded lateness: late wake-ups do
not lower the rate, and what is late follows at twice the pace, not at once. The ring of write times has the
last word: the write `limit` writes earlier is at least one second old. A request that is known to have
arrived late counts from its arrival. After a stall longer than SLACK_NS the bucket continues at the normal
rate; it does not burst to catch up. Times are integers, nanoseconds of one monotonic clock.
"""

from bisect import bisect_left, insort
from math import ceil

from drumbeat.engine.core.units import SECOND_NS

# The service counts arrivals, and the way there moves each by milliseconds. At 0.995 of the limit, `limit`
# requests span 1.005 s: the guard's second, and 3 ms by which lateness falls each second. Costs 0.5 %.
HEADROOM = 0.995
# Added to the guard's second for short delays on the way. Longer delays show in late replies
# (`engine.core.pace.arrival_estimate`).
GUARD_SPARE_NS = 2_000_000
# Of an uneven service, short delays do not show. Below the 5 ms that HEADROOM leaves.
UNEVEN_SPARE_NS = 4_000_000
# Lateness that the schedule forgives. A process that shares its core is suspended for 10 to 80 ms at a time,
# and the ring repeats each gap in every later second. With 5 ms that costs half of 1,000/s; with 60 ms 0.06 %
# more than with 80.
SLACK_NS = 80_000_000
# How much lateness may be made up at once; the rest follows at twice the pace. With all of it at once the
# ring repeats the burst every second: 4 numbers at 1,000/s fell from 97.5 to 90.4 % of the limit on two
# shared cores.
BURST_NS = 10_000_000
# The first second after a pause runs at this share of the pace, and the pause is not made up. Connections
# open then, and requests written up to 50 ms apart arrive together. This costs 0.05 s each time.
FIRST_SECOND = 0.95
PAUSE_NS = SECOND_NS
# The bounds of a limit, whether a person, the service or a row sets it. The table `numbers` has the same.
LIMIT_PER_S_MIN = 0.01  # 36 messages an hour; to send fewer, pause the campaign
# Bounds the ring, which holds one integer a write of a second. No service of this family comes near it.
LIMIT_PER_S_MAX = 100_000.0
# Entries beyond the ring's need that are kept before old ones are deleted, all at once.
RING_SPARE = 1_024
LONG_AGO_NS = -(2**62)


def check_limit(limit_per_s: float) -> None:
    """Raise ValueError, which names the valid limits, if no number can keep to this one, such as NaN."""
    if not LIMIT_PER_S_MIN <= limit_per_s <= LIMIT_PER_S_MAX:
        bounds = f"{LIMIT_PER_S_MIN:g} to {LIMIT_PER_S_MAX:,.0f}"
        raise ValueError(f"a limit is {bounds} messages per second, not {limit_per_s:g}")


class TokenBucket:
    """The permits of one number; a permit allows one write. The bucket starts empty: the first permit is due
    one interval after `now_ns`.

    Read only: `limit_per_s`; `rate_per_s`, the present pace, at most HEADROOM of the limit; `writes`, the
    count of permits taken; `last_ns`, the time of the last one.
    """

    __slots__ = (
        "_burst_ns",
        "_due_ns",
        "_first_extra_ns",
        "_first_left",
        "_guard_ns",
        "_guard_writes",
        "_held_ns",
        "_interval_ns",
        "_pause_ns",
        "_ring",
        "_slack_ns",
        "_spaced_ns",
        "last_ns",
        "limit_per_s",
        "rate_per_s",
        "writes",
    )

    def __init__(
        self, limit_per_s: float, now_ns: int, *, slack_ns: int = SLACK_NS, burst_ns: int = BURST_NS
    ) -> None:
        self._slack_ns, self._burst_ns = slack_ns, burst_ns
        self._pause_ns = max(PAUSE_NS, slack_ns)
        self._ring: list[int] = []  # ascending
        self.writes = 0
        self._held_ns = self._spaced_ns = self.last_ns = now_ns
        self._set_guard(limit_per_s)
        self._set_pace(limit_per_s * HEADROOM)
        self._due_ns = now_ns + self._interval_ns
        self._begin_first_second()

    def wait_ns(self, now_ns: int) -> int:
        """Return the nanoseconds until the next write is permitted; 0 means now."""
        guarded_ns = self._ring[-self._guard_writes] + self._guard_ns - now_ns
        return max(0, guarded_ns, max(self._due_ns, self._held_ns, self._spaced_ns) - now_ns)

    def late_ns(self, now_ns: int) -> int:
        """Return for how many nanoseconds the next write has been permitted; 0 if it is not."""
        permitted_ns = max(self._due_ns, self._held_ns, self._spaced_ns)
        return max(0, now_ns - max(permitted_ns, self._ring[-self._guard_writes] + self._guard_ns))

    def available(self, now_ns: int) -> int:
        """Return how many writes the schedule permits at this moment. The ring may still refuse some."""
        if self.wait_ns(now_ns):
            return 0
        interval_ns = self._interval_ns + (self._first_extra_ns if self._first_left else 0)
        spaced_ns = max(self._spaced_ns, now_ns - self._burst_ns)
        late_ns = now_ns - self._due_from(now_ns)
        return 1 + min(late_ns // interval_ns, (now_ns - spaced_ns) // (self._interval_ns >> 1))

    def take(self, now_ns: int) -> bool:
        """Take a permit for a write at this moment, if there is one. Write at once, without another wait."""
        if now_ns < self._due_ns or now_ns < self._held_ns or now_ns < self._spaced_ns:
            return False
        ring = self._ring
        if now_ns < ring[-self._guard_writes] + self._guard_ns:
            return False
        ring.append(now_ns)
        self.last_ns = now_ns
        if len(ring) >= self._guard_writes + RING_SPARE:
            del ring[: -self._guard_writes]
        self.writes += 1
        if now_ns - self._due_ns > self._pause_ns:
            self._begin_first_second()
        self._due_ns = self._due_from(now_ns) + self._interval_ns
        if self._first_left:
            self._first_left -= 1
            self._due_ns += self._first_extra_ns
        if self._spaced_ns < now_ns - self._burst_ns:
            self._spaced_ns = now_ns - self._burst_ns
        self._spaced_ns += self._interval_ns >> 1
        return True

    def set_limit(self, limit_per_s: float, now_ns: int) -> None:
        """Set a new limit, at its full pace. A lower one holds at once: writes of the last second count."""
        self._set_guard(limit_per_s)
        self.set_rate(limit_per_s * HEADROOM, now_ns)
        if not self.writes:
            self._begin_first_second()

    def set_rate(self, rate_per_s: float, now_ns: int) -> None:
        """Set a new pace under the same limit, cut to HEADROOM of it."""
        self._set_pace(rate_per_s)
        self._due_ns = min(self._due_ns, now_ns + self._interval_ns)
        self._spaced_ns = min(self._spaced_ns, now_ns + (self._interval_ns >> 1))

    def count_from_arrival(self, written_ns: int, arrived_ns: int) -> None:
        """Count the request written at `written_ns` from `arrived_ns`, when it reached the service.

        No entry of the ring moves earlier. A write that the ring does not hold changes nothing.
        """
        ring = self._ring
        index = bisect_left(ring, written_ns)
        if index < len(ring) and ring[index] == written_ns:
            del ring[index]
            insort(ring, arrived_ns)

    def guard(self, spare_ns: int) -> None:
        """Keep this much more than a second between a write and the write `limit` writes later."""
        second_ns = SECOND_NS + spare_ns
        self._guard_ns = second_ns if self.limit_per_s >= 1 else int(second_ns / self.limit_per_s)

    def hold_until(self, until_ns: int) -> None:
        """Give no permit before `until_ns`, whatever limits and rates are set meanwhile."""
        self._held_ns = max(self._held_ns, until_ns)

    def _due_from(self, now_ns: int) -> int:
        """Return when the oldest permit that is still granted was due.

        Lateness beyond the slack, in a hold or in a pause is lost.
        """
        if now_ns - self._due_ns > self._pause_ns:
            return now_ns
        oldest_ns = now_ns - self._slack_ns
        if oldest_ns < self._held_ns:
            oldest_ns = self._held_ns
        return oldest_ns if oldest_ns > self._due_ns else self._due_ns

    def _begin_first_second(self) -> None:
        self._first_left = int(self.rate_per_s * FIRST_SECOND)
        self._first_extra_ns = int(self._interval_ns * (1 / FIRST_SECOND - 1))

    def _set_guard(self, limit_per_s: float) -> None:
        check_limit(limit_per_s)
        self.limit_per_s = limit_per_s
        self._guard_writes = max(1, int(limit_per_s))
        self.guard(GUARD_SPARE_NS)
        # Writes that a smaller ring dropped do not matter: the lower limit kept them at least a second before
        # the last one.
        self._ring[:0] = [LONG_AGO_NS] * (self._guard_writes - len(self._ring))

    def _set_pace(self, rate_per_s: float) -> None:
        if rate_per_s <= 0:
            raise ValueError(f"a rate is above 0 per second, not {rate_per_s}")
        self.rate_per_s = min(rate_per_s, self.limit_per_s * HEADROOM)
        self._interval_ns = ceil(SECOND_NS / self.rate_per_s)
