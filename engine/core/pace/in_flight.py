"""The limits of one number's requests in flight, and of the connections that may be opened for them.

By Little's law a service needs rate × latency requests in flight, so a slow service needs no setting. Two
more bounds hold. A service that queues what it cannot answer would need ever more in-flight requests, until
all of them time out together. So no more are in flight than it answers in CAP_S. A full core delays replies
itself. So it opens only a few connections. Times are integers, nanoseconds.
"""

from collections import deque
from dataclasses import dataclass

from drumbeat.engine.core.pace.loop_load import Busyness
from drumbeat.engine.core.units import SECOND_NS

# For one number: at most the rate times 4 s, and never more than 4,000. A service slower than that is down.
LATENCY_S_MAX = 4.0
IN_FLIGHT_MAX = 4_000
IN_FLIGHT_MIN = 8  # always allowed
# Factor on the median latency: the mean lies above it, by half where latencies are as uneven as usual.
SPARE = 2.0
# If few slow replies hold most connections, that is too little. Then one more connection is opened in each
# such period.
EXTRA_PERIOD_NS = 50_000_000
# Twice LATENCY_S_MAX, so that a service as slow as that can still grow; far below the 30 s after which a
# reply is given up.
CAP_S = 8.0
# Replies are counted over two seconds: a stall of some tenths changes little, and a fall of the rate shows
# soon.
SLOT_NS = SECOND_NS // 4
SLOTS = 8
UNBOUNDED = 2**31
# The median of the replies: a mean would follow stalls, and ask for connections that nobody needs. A reply
# moves it by 1/32 of itself, and by twice as much after each run of eight on one side: it follows from 1 ms
# to 500 ms within 40 slower replies, and ten replies that a stall delays hardly move it.
_STEP_SHIFT = 5
_STEP_NS_MIN = 10_000
_RUN = 8


@dataclass(frozen=True, slots=True)
class SendState:
    """The state of a number by which `connections_allowed` decides.

    `in_flight` counts requests that are written and have no reply yet. `connecting` counts messages that wait
    for a connection of their own. `loop` is described at `LoopLoad`. `connections_reused`: a connection
    carries further messages; otherwise every message opens one.
    """

    now_ns: int
    in_flight: int
    connecting: int
    rate_per_s: float
    limit_per_s: float
    loop: Busyness = Busyness.CALM
    connections_reused: bool = True


class InFlightLimit:
    """The limits of one number. They learn from `replied` and `observe_latency`. `latency_ns` is the median;
    0 while unknown.
    """

    __slots__ = ("_extra_ns", "_replies", "_run", "_since_ns", "_slot_ns", "latency_ns")

    def __init__(self) -> None:
        self.latency_ns = 0
        self._run = 0  # replies in a row: slower than the median above zero, faster below
        self._replies: deque[int] = deque([0], maxlen=SLOTS)  # the last slot is the present one
        self._slot_ns = 0  # when it began
        self._since_ns: int | None = None  # the first reply since nothing was in flight
        self._extra_ns = 0  # when the last extra connection was allowed

    def writes_allowed(self, now_ns: int, in_flight: int) -> int:
        """Return how many more requests may be written."""
        return max(0, max(IN_FLIGHT_MIN, self._cap(now_ns)) - in_flight)

    def connections_allowed(self, state: SendState) -> int:
        """Return how many more connections may be opened: as many as requests wait for a reply, up to the
        need.

        So a slow service gets what it needs in a few round trips, and a fast one does not get many just
        because everything begins.
        """
        again = max(IN_FLIGHT_MIN, state.in_flight) - state.connecting
        allowed = min(again, self._needed(state) - state.in_flight - state.connecting)
        if allowed > 0 or state.loop or state.connecting:
            return max(0, allowed)
        if state.now_ns - self._extra_ns < EXTRA_PERIOD_NS or state.in_flight >= IN_FLIGHT_MAX:
            return 0
        self._extra_ns = state.now_ns
        return 1

    def observe_latency(self, latency_ns: int) -> None:
        """Note that a reply came `latency_ns` after its request was written, while the loop was not busy."""
        known_ns = self.latency_ns or latency_ns
        slower = latency_ns > known_ns
        self._run = max(1, self._run + 1) if slower else min(-1, self._run - 1)
        step_ns = max(_STEP_NS_MIN, known_ns >> max(1, _STEP_SHIFT - abs(self._run) // _RUN))
        if slower:
            self.latency_ns = min(latency_ns, known_ns + step_ns)
        else:
            self.latency_ns = max(latency_ns, known_ns - step_ns, 1)

    def replied(self, now_ns: int, replies: int) -> None:
        """Note that so many replies came since the last call."""
        if self._since_ns is None:
            self._since_ns = self._slot_ns = now_ns
            self._replies.clear()
            self._replies.append(0)
        self._advance(now_ns)
        self._replies[-1] += replies

    def went_idle(self) -> None:
        """Note that nothing is in flight: a new request may meet another service."""
        self._since_ns = None

    def _needed(self, state: SendState) -> int:
        """Return how many requests may be in flight or about to be."""
        bound = state.limit_per_s * LATENCY_S_MAX
        if state.connections_reused and state.loop is Busyness.FULL:
            bound = IN_FLIGHT_MIN
        elif self.latency_ns and (state.connections_reused or state.loop):
            bound = min(bound, state.rate_per_s * self.latency_ns / SECOND_NS * SPARE)
        elif state.loop:
            bound = IN_FLIGHT_MIN
        return int(min(IN_FLIGHT_MAX, max(IN_FLIGHT_MIN, bound)))

    def _cap(self, now_ns: int) -> int:
        """Return how many requests the service answers in CAP_S. No bound until it has replied for the length
        of a slot.
        """
        if self._since_ns is None or now_ns - self._since_ns < SLOT_NS:
            return UNBOUNDED
        self._advance(now_ns)
        span_ns = (len(self._replies) - 1) * SLOT_NS + now_ns - self._slot_ns
        return int(sum(self._replies) * CAP_S * SECOND_NS / span_ns)

    def _advance(self, now_ns: int) -> None:
        slots = (now_ns - self._slot_ns) // SLOT_NS
        if slots > 0:
            self._replies.extend([0] * min(slots, SLOTS))
            self._slot_ns += slots * SLOT_NS
