"""How many requests of one number may be open: rate times latency, so that a slow service needs no setting.

The latency is the median of the replies. A mean would count stalls, ours or the service's: after a tenth of a
second without an answer it would ask for hundreds of connections that nobody needs afterwards. Times are
integers, nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.core.bucket import SECOND_NS
from engine.core.carried import Carried
from engine.core.strain import Load

# At most rate times 4 s, and never more than OPEN_MAX for one number: a service slower than that is down.
LATENCY_S_MAX = 4.0
OPEN_MAX = 4_000
# Fewer are always allowed.
OPEN_MIN = 8
# Factor on the median: the mean lies above it, by a half where latencies are as uneven as usual.
SPARE = 2.0
# If that is too little, one more is allowed now and then, while the loop has time for it.
EXTRA_PERIOD_NS = 50_000_000
# Replies that a gap must have swallowed: by chance one of 3,000 such gaps has none.
REPLIES_MISSED_MIN = 8
# A longer gap is a pause, or a service that is down.
STANDSTILL_NS_MAX = 500_000_000
# The median moves by a thirty-second of itself a reply, and by twice as much after each eight on one side of
# it: from 1 ms to 500 ms within 40 replies that are slower, and hardly by the ten that a stall holds up.
_STEP_SHIFT = 5
_STEP_NS_MIN = 10_000
_RUN = 8


class Concurrency:
    """Of one number. `answered` for each reply that tells of the service, `openable` for a connection."""

    __slots__ = ("_answered_ns", "_carried", "_extra_ns", "_run", "latency_ns")

    def __init__(self) -> None:
        self.latency_ns = 0  # the median; 0 while unknown
        self._run = 0  # replies in a row: slower above zero, faster below
        self._extra_ns = 0
        self._answered_ns = 0  # the last reply
        self._carried = Carried()

    def flows(self, now_ns: int, replies: int) -> None:
        """So many replies came since the last look, whatever they say of the latency."""
        self._answered_ns = now_ns
        self._carried.replied(now_ns, replies)

    def rests(self) -> None:
        """Nothing is under way any more."""
        self._answered_ns = 0
        self._carried.rests()

    def writable(self, now_ns: int, waiting: int, limit_per_s: float) -> int:
        """How many more requests the service carries beside those `waiting` for a reply."""
        return max(0, max(OPEN_MIN, self._carried.most(now_ns, limit_per_s)) - waiting)

    def missed(self, now_ns: int, written_between: Callable[[int, int], int]) -> int:
        """How many replies should have come since the last: those to what was written a latency earlier.

        `written_between(begin_ns, end_ns)` counts writes. By the rate a service that has grown slow would
        seem to stand still whenever the few requests that are open wait for their replies together.
        """
        if not (self._answered_ns and self.latency_ns):
            return 0
        return written_between(self._answered_ns - self.latency_ns, now_ns - self.latency_ns)

    def answered(self, latency_ns: int) -> None:
        """A reply came `latency_ns` after its request was written."""
        known_ns = self.latency_ns or latency_ns
        if latency_ns > known_ns:
            self._run = max(1, self._run + 1)
            step_ns = known_ns >> max(1, _STEP_SHIFT - self._run // _RUN)
            self.latency_ns = min(latency_ns, known_ns + max(_STEP_NS_MIN, step_ns))
        else:
            self._run = min(-1, self._run - 1)
            step_ns = known_ns >> max(1, _STEP_SHIFT - abs(self._run) // _RUN)
            self.latency_ns = max(latency_ns, known_ns - max(_STEP_NS_MIN, step_ns), 1)

    def openable(
        self,
        now_ns: int,
        *,
        waiting: int,
        approaching: int,
        rate_per_s: float,
        limit_per_s: float,
        load: Load,
        kept: bool = True,
        missed: int = 0,
    ) -> int:
        """How many more requests may look for a connection, beside those `approaching` and those `waiting`
        for a reply.

        As many again as wait: a slow service gets what it needs in a few round trips, and a fast one does not
        get many just because everything begins. `load`: of the loop. With a full core more requests would
        only wait for us, so only a few are opened; if those are too few, the core is soon not full any more.
        `kept`: connections serve further messages. Else every message asks here, and only a busy loop is a
        bound. `missed`: see there.
        """
        again = max(OPEN_MIN, waiting) - approaching
        # Replies came all the time and stop: more connections would only stand still with the service.
        still = missed > REPLIES_MISSED_MIN and now_ns - self._answered_ns < STANDSTILL_NS_MAX
        if kept and still:
            return 0
        openable = min(again, self._open_max(rate_per_s, limit_per_s, load, kept) - waiting - approaching)
        if openable <= 0 and not load and not approaching and now_ns - self._extra_ns >= EXTRA_PERIOD_NS:
            self._extra_ns = now_ns
            return 1 if waiting < OPEN_MAX else 0
        return max(0, openable)

    def _open_max(self, rate_per_s: float, limit_per_s: float, load: Load, kept: bool) -> int:
        if kept and load is Load.FULL:
            return OPEN_MIN
        open_max = limit_per_s * LATENCY_S_MAX
        if self.latency_ns and (kept or load):
            open_max = min(open_max, rate_per_s * self.latency_ns / SECOND_NS * SPARE)
        elif load:
            open_max = OPEN_MIN
        return int(min(OPEN_MAX, max(OPEN_MIN, open_max)))
