"""The feedback of one number's replies: how much may be in flight, and which requests arrived late."""

from drumbeat.engine.clock import SECOND_NS
from drumbeat.engine.core.histogram import Histogram
from drumbeat.engine.core.pace.arrival_estimate import ArrivalEstimate
from drumbeat.engine.core.pace.in_flight import InFlightLimit, SendState
from drumbeat.engine.core.pace.loop_load import Busyness
from drumbeat.engine.core.pace.token_bucket import GUARD_SPARE_NS, UNEVEN_SPARE_NS, TokenBucket
from drumbeat.engine.sending.claimed_queue import ClaimedQueue

# The bounds of the histogram of request durations. After 30 s without a reply, a request ends.
DURATION_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 30.0)


class ReplyFeedback:
    """The feedback. Call `replied` for each reply and `learn` a few times a second. `loop` is described at
    `LoopLoad`.
    """

    def __init__(self, bucket: TokenBucket, queue: ClaimedQueue) -> None:
        self.loop = Busyness.CALM
        self.connections_reused = False  # the transport has returned a free connection
        self._bucket = bucket
        self._queue = queue
        self._limit = InFlightLimit()
        self._arrivals = ArrivalEstimate()
        self._replies = self._replies_counted = 0
        self.durations = Histogram([int(bound_s * SECOND_NS) for bound_s in DURATION_BOUNDS_S])
        self._durations_ns: list[int] = []  # durations since the last call of `learn`

    def replied(self, written_ns: int, now_ns: int) -> None:
        self._replies += 1
        self._durations_ns.append(now_ns - written_ns)
        if self.loop is Busyness.FULL:
            self._arrivals.skip(now_ns)  # replies wait for this process: they show nothing, and cost its time
        elif (arrived_ns := self._arrivals.counted_ns(written_ns, now_ns)) is not None:
            self._bucket.count_from_arrival(written_ns, arrived_ns)
        if not self.loop:
            self._limit.observe_latency(now_ns - written_ns)

    def awake(self, now_ns: int) -> None:
        self._arrivals.awake(now_ns)

    def went_idle(self) -> None:
        self._limit.went_idle()

    def learn(self) -> None:
        self.durations.observe(self._durations_ns)
        self._durations_ns.clear()
        self._arrivals.learn(self._replies, self._limit.latency_ns, self._bucket.limit_per_s)
        self._bucket.guard(UNEVEN_SPARE_NS if self._arrivals.is_uneven else GUARD_SPARE_NS)

    def writes_allowed(self, now_ns: int) -> int:
        """Return how many more requests may be written now."""
        if self._replies != self._replies_counted:
            self._limit.replied(now_ns, self._replies - self._replies_counted)
            self._replies_counted = self._replies
        return self._limit.writes_allowed(now_ns, self._queue.taken)

    def connections_allowed(self, now_ns: int) -> int:
        """Return how many more connections may be opened now."""
        queue, bucket = self._queue, self._bucket
        state = SendState(
            now_ns,
            in_flight=queue.taken - queue.connecting,
            connecting=queue.connecting,
            rate_per_s=bucket.rate_per_s,
            limit_per_s=bucket.limit_per_s,
            loop=self.loop,
            connections_reused=self.connections_reused,
        )
        return self._limit.connections_allowed(state)
