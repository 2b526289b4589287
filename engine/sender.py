"""Sends the claimed messages of one number, in order, each when its permit is due.

The short way: a permit is due, a connection is free, the message is written, and its reply is handled where
it arrives. Where no connection is free, a message goes the long way: a task of its own gets a connection and
waits at the gate for its permit; the connection then serves the short way. So open requests follow rate times
latency without a setting, and connections that nobody needs any more grow old in the transport.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

import structlog

from engine.api.transport import Connection, Transport
from engine.clock import monotonic_ns, suspend_aware_ns
from engine.core.arrivals import Arrivals
from engine.core.bucket import PaceBucket
from engine.core.concurrency import Concurrency
from engine.core.outcome import NotSent, Outcome, Unknown
from engine.core.strain import Load
from engine.pacer import Pacer
from engine.sending.messages import Claimed

log = structlog.get_logger(__name__)

OutcomeHandler = Callable[[Claimed, Outcome, int | None], None]
"""(message, outcome, when it was written on the monotonic clock, or None)."""


class Sender:
    """The open requests of one number. `on_outcome` is called once for each message that `send` was given."""

    def __init__(
        self, phone_number_id: str, transport: Transport, bucket: PaceBucket, on_outcome: OutcomeHandler
    ) -> None:
        self.pacer = Pacer(bucket, self.serve)
        self._phone_number_id = phone_number_id
        self._transport = transport
        self._on_outcome = on_outcome
        self._queue: deque[Claimed] = deque()
        self._written: set[Connection] = set()  # on the short way, without a reply
        # On the long way; with its message until the task runs: one that never ran has lost nobody.
        self._attempts: dict[asyncio.Task[None], Claimed | None] = {}
        self._concurrency = Concurrency()
        self._load = Load.CALM  # of the loop
        self._arrivals = Arrivals()
        self._answers = self._answers_seen = 0  # replies to what was written; at the last look
        self._keeps = False  # the transport has given a connection that it kept
        self._lacked = 0  # permits without a connection at the last look
        self._open = 0  # messages taken from the queue, without outcome
        self.approaching = 0  # messages on the long way, before their permit
        self.failure: BaseException | None = None  # a bug in what is done with outcomes
        self._idle = asyncio.Event()
        self._idle.set()
        self.low = asyncio.Event()
        self.low_below = 1

    @property
    def queued(self) -> int:
        """Messages claimed and not yet written: in the queue, or in an attempt that waits for its permit."""
        return len(self._queue) + self.approaching

    @property
    def under_way(self) -> int:
        """Messages claimed and without outcome."""
        return len(self._queue) + self._open

    def send(self, messages: list[Claimed]) -> None:
        self._queue.extend(messages)
        if messages:
            self._idle.clear()

    def serve(self, due: int, load: Load = Load.CALM) -> bool:
        """Write up to `due` messages whose permits are due; False with nothing to send.

        Those that lack a free connection at two looks in a row go the long way, where new connections help:
        in between, most often, replies free one. `load`: of the loop.
        """
        if not self._queue:
            self._lacked = 0
            return self.approaching > 0
        self._load = load
        now_ns = monotonic_ns()
        if self._answers != self._answers_seen:
            self._concurrency.flows(now_ns, self._answers - self._answers_seen)
            self._answers_seen = self._answers
        due = min(due, self._concurrency.writable(now_ns, self._open, self.pacer.bucket.limit_per_s))
        lacking = min(self._write_due(due) - self.approaching, len(self._queue))
        if lacking > 0 and self._lacked > 0:
            for _ in range(min(lacking, self._lacked, self._openable(load, now_ns))):
                self._attempt_next()
        self._lacked = lacking
        self.tell_if_low()
        return True

    def learn(self) -> None:
        """Look at what replies told of the service; a few times a second."""
        self._arrivals.look(self._answers, self._concurrency.latency_ns, self.pacer.bucket.limit_per_s)

    async def idle(self) -> None:
        """Return when every message has its outcome."""
        await self._idle.wait()

    def give_back(self, reason: str = "drained") -> None:
        """Nothing more is written: what waits in the queue was certainly not sent."""
        while self._queue:
            self._ended(self._take(), NotSent(reason), None)

    def abort(self) -> None:
        """After `give_back`, end what is under way: a request without a reply becomes a doubt."""
        for attempt in self._attempts:
            attempt.cancel()
        for connection in list(self._written):
            connection.disconnect("the process was stopped")

    def tell_if_low(self) -> None:
        if self.queued < self.low_below:
            self.low.set()

    def _openable(self, load: Load, now_ns: int) -> int:
        return self._concurrency.openable(
            now_ns,
            waiting=self._open - self.approaching,
            approaching=self.approaching,
            rate_per_s=self.pacer.bucket.rate_per_s,
            limit_per_s=self.pacer.bucket.limit_per_s,
            load=load,
            kept=self._keeps,
            missed=self._concurrency.missed(now_ns, self.pacer.bucket.written_between),
        )

    def _take(self) -> Claimed:
        self._open += 1
        return self._queue.popleft()

    def _write_due(self, due: int) -> int:
        """Write up to `due` messages to free connections; returns how many lack one."""
        queue, take, acquire_idle = self._queue, self.pacer.bucket.take, self._transport.acquire_idle
        for written in range(due):
            if queue and suspend_aware_ns() >= queue[0].expires_ns:
                self._give_up_expired()
            if not queue or (connection := acquire_idle()) is None:
                return due - written
            self._keeps = True
            now_ns = monotonic_ns()
            if not take(now_ns):
                connection.release()
                return 0
            self._open += 1
            message = queue.popleft()
            self._written.add(connection)
            answered = partial(self._answered, connection, message, now_ns)
            connection.write(self._phone_number_id, message.payload, answered)
        return 0

    def _give_up_expired(self) -> None:
        """What waits at the head of the queue and was claimed too long ago is not written any more."""
        while self._queue and suspend_aware_ns() >= self._queue[0].expires_ns:
            self._ended(self._take(), NotSent("permit expired"), None)

    def _answered(self, connection: Connection, message: Claimed, written_ns: int, outcome: Outcome) -> None:
        """What became of a request on the short way."""
        self._written.discard(connection)
        self._ended(message, outcome, written_ns)

    def _attempt_next(self) -> None:
        message = self._take()
        self.approaching += 1
        attempt = asyncio.create_task(self._attempt(message))
        self._attempts[attempt] = message
        attempt.add_done_callback(self._attempt_ended)

    def _attempt_ended(self, attempt: asyncio.Task[None]) -> None:
        if (message := self._attempts.pop(attempt)) is not None:
            self.approaching -= 1
            self._ended(message, NotSent("drained"), None)
        if not attempt.cancelled() and (error := attempt.exception()) is not None:
            self._failed(error)

    async def _attempt(self, message: Claimed) -> None:
        if (task := asyncio.current_task()) is not None:
            self._attempts[task] = None
        passage = _Passage(self, message.expires_ns)
        outcome: Outcome | None = None
        try:
            outcome = await self._transport.send(self._phone_number_id, message.payload, passage)
        except Exception as problem:  # a bug must not lose a recipient: it becomes what it can be at worst
            log.exception("attempt_failed_unexpectedly")
            outcome = passage.broken(f"{type(problem).__name__} while sending")
        finally:
            passage.leave()
            outcome = outcome or passage.broken("the process was stopped")
            # The connection may have broken after the permit was taken.
            written_ns = None if type(outcome) is NotSent else passage.written_ns
            self._ended(message, outcome, written_ns)

    def _ended(self, message: Claimed, outcome: Outcome, written_ns: int | None) -> None:
        self._open -= 1
        if written_ns is not None and type(outcome) is not Unknown:
            self._replied(written_ns, monotonic_ns())
        try:
            self._on_outcome(message, outcome, written_ns)
        except Exception as problem:  # it must not end the connection or the ticker that called
            log.exception("outcome_not_handled")
            self._failed(problem)
        if not self._open and not self._queue:
            self._idle.set()
            self._concurrency.rests()

    def _replied(self, written_ns: int, now_ns: int) -> None:
        self._answers += 1
        if (counted_ns := self._arrivals.counted_ns(written_ns, now_ns)) is not None:
            self.pacer.bucket.arrived(written_ns, counted_ns)
        if not self._load:
            self._concurrency.answered(now_ns - written_ns)

    def _failed(self, problem: BaseException) -> None:
        self.failure = problem
        self.low.set()


class _Passage:
    """The gate of one attempt: a message is through it when its permit is taken, and then it is written."""

    __slots__ = ("_expires_ns", "_inside", "_sender", "written_ns")

    def __init__(self, sender: Sender, expires_ns: int) -> None:
        """The sender has counted the message among those on their way."""
        self._sender = sender
        self._expires_ns = expires_ns
        self._inside = True
        self.written_ns: int | None = None

    async def __call__(self) -> bool:
        permitted = await self._sender.pacer.permit(self._expires_ns)
        if permitted:
            self.written_ns = self._sender.pacer.bucket.last_ns
        self.leave()
        return permitted

    def leave(self) -> None:
        if self._inside:
            self._inside = False
            self._sender.approaching -= 1
            self._sender.tell_if_low()

    def broken(self, reason: str) -> Outcome:
        """The outcome of a request that ended without one."""
        return NotSent("drained") if self.written_ns is None else Unknown(reason)
