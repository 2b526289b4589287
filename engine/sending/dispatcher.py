"""The dispatcher: it writes the claimed messages of one number, in order, each when its permit is due.

The fast path: a permit is due, a connection is free, the message is written, and its reply is handled where
it arrives. If no connection is free, the connection opener sends the message in a task of its own, and the
new connection then serves the fast path. So in-flight requests follow rate times latency without a setting,
and connections that are no longer needed time out in the transport.
"""

from functools import partial

from drumbeat.engine.api.transport import IdleConnection, Transport
from drumbeat.engine.clock import SECOND_NS, monotonic_ns, suspend_aware_ns
from drumbeat.engine.core.histogram import Histogram
from drumbeat.engine.core.lease import CLAIM_VALID_S
from drumbeat.engine.core.outcome import NotSent, Outcome, Unknown
from drumbeat.engine.core.pace.loop_load import Busyness
from drumbeat.engine.core.pace.token_bucket import TokenBucket
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.claimed_queue import ClaimedQueue
from drumbeat.engine.sending.connection_opener import ConnectionOpener, OutcomeHandler
from drumbeat.engine.sending.messages import ClaimedMessage
from drumbeat.engine.sending.pacer import Pacer
from drumbeat.engine.sending.reply_feedback import ReplyFeedback

log = get_logger(__name__)


class Dispatcher:
    """A dispatcher of one number. It calls `on_outcome` once for each message given to `send`."""

    def __init__(
        self, phone_number_id: str, transport: Transport, bucket: TokenBucket, on_outcome: OutcomeHandler
    ) -> None:
        self.queue = ClaimedQueue()
        self._feedback = ReplyFeedback(bucket, self.queue)
        self.pacer = Pacer(bucket, self.serve, self._failed, self._feedback.awake)
        self.failure: BaseException | None = None  # of the pace, or of the handling of outcomes
        self._phone_number_id = phone_number_id
        self._transport = transport
        self._on_outcome = on_outcome
        self._opener = ConnectionOpener(
            phone_number_id, transport, self.pacer, self.queue, self._settle, self._failed
        )
        self._written: set[IdleConnection] = set()  # connections of the fast path that wait for a reply
        self._lacking = 0  # permits without a connection at the last call of `serve`

    def send(self, messages: list[ClaimedMessage]) -> None:
        self.queue.add(messages)

    def serve(self, due: int, loop: Busyness = Busyness.CALM) -> bool:
        """Write up to `due` messages whose permits are due. False if there is nothing to send.

        A message that lacks a free connection in two calls in a row gets a new one, if the in-flight limit
        allows it: between two calls, replies most often free a connection.
        """
        queue, feedback = self.queue, self._feedback
        if not queue.messages:
            self._lacking = 0
            return queue.connecting > 0
        feedback.loop = loop
        now_ns = monotonic_ns()
        unserved = self._write_due(min(due, feedback.writes_allowed(now_ns)))
        lacking = min(unserved - queue.connecting, len(queue.messages))
        if lacking > 0 and self._lacking > 0:
            for _ in range(min(lacking, self._lacking, feedback.connections_allowed(now_ns))):
                self._opener.open_for(queue.take())
        self._lacking = lacking
        queue.signal_if_low()
        return True

    def give_back(self, message: ClaimedMessage, reason: str) -> None:
        """Defer a claimed message that was certainly not written. It was never in the queue."""
        self._on_outcome(message, NotSent(reason), None)

    def learn(self) -> None:
        """Learn from the replies so far. Call it a few times a second."""
        self._feedback.learn()

    @property
    def durations(self) -> Histogram:
        """Return the durations of requests, from the write to the reply, in nanoseconds."""
        return self._feedback.durations

    def late_ns(self, now_ns: int) -> int:
        """Return for how long the first message of the queue could have been written; 0 if there is none."""
        if not self.queue.messages:
            return 0
        valid_ns = self.queue.messages[0].expires_ns - suspend_aware_ns()
        claimed_ns_ago = max(0, int(CLAIM_VALID_S * SECOND_NS) - valid_ns)
        return min(claimed_ns_ago, self.pacer.bucket.late_ns(now_ns))

    async def idle(self) -> None:
        """Wait until every message has its outcome."""
        await self.queue.idle.wait()

    def release_queue(self, reason: str = "drained") -> None:
        """Write nothing more. The messages of the queue were certainly not sent."""
        while self.queue.messages:
            self._settle(self.queue.take(), NotSent(reason), None)

    def abort(self) -> None:
        """End requests in flight, after `release_queue`. A request without a reply becomes Unknown."""
        self._opener.abort()
        for connection in list(self._written):
            connection.disconnect("the process was stopped")

    def _write_due(self, due: int) -> int:
        """Write up to `due` messages to free connections, and return how many lack one."""
        queue, take, acquire_idle = self.queue, self.pacer.bucket.take, self._transport.acquire_idle
        messages = queue.messages
        for written in range(due):
            if messages and suspend_aware_ns() >= messages[0].expires_ns:
                self._release_expired()
            if not messages or (connection := acquire_idle()) is None:
                return due - written
            self._feedback.connections_reused = True
            now_ns = monotonic_ns()
            if not take(now_ns):
                connection.release()
                return 0
            queue.taken += 1
            message = messages.popleft()
            self._written.add(connection)
            answered = partial(self._answered, connection, message, now_ns)
            connection.write(self._phone_number_id, message.payload, answered)
        return 0

    def _release_expired(self) -> None:
        """Settle messages whose claims expired in the queue. They are no longer written."""
        while self.queue.messages and suspend_aware_ns() >= self.queue.messages[0].expires_ns:
            self._settle(self.queue.take(), NotSent("claim expired"), None)

    def _answered(
        self, connection: IdleConnection, message: ClaimedMessage, written_ns: int, outcome: Outcome
    ) -> None:
        """Settle a message of the fast path by the outcome of its request."""
        self._written.discard(connection)
        self._settle(message, outcome, written_ns)

    def _settle(self, message: ClaimedMessage, outcome: Outcome, written_ns: int | None) -> None:
        if written_ns is not None and type(outcome) is not Unknown:
            self._feedback.replied(written_ns, monotonic_ns())
        try:
            self._on_outcome(message, outcome, written_ns)
        except Exception as problem:  # it must not end the connection or the ticker that called
            log.exception("outcome_not_handled")
            self._failed(problem)
        if self.queue.finish():
            self._feedback.went_idle()

    def _failed(self, problem: BaseException) -> None:
        self.failure = problem
        self.queue.low.set()
