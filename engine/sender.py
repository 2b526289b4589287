"""Sends the claimed messages of one number: an open request for each lane, as many as the pace needs.

A lane takes a message, gets a connection, waits for the permit, writes, and reads one outcome. When permits
are due and no lane waits for one, lanes are added; when more wait than the pace needs, a lane ends after its
message. So open requests follow rate times latency without a setting.
"""

import asyncio
from collections import deque
from collections.abc import Callable

import structlog

from engine.api.transport import Transport
from engine.clock import monotonic_ns
from engine.core.outcome import NotSent, Outcome, Unknown
from engine.flow import Claimed
from engine.pacer import Pacer

# Rate times latency at 4 s, and never more than this for one number: a service slower than that is down.
LATENCY_S_MAX = 4.0
OPEN_MAX = 4_000
# Lanes that may wait for permits: 20 ms of the rate smooths uneven latency.
SPARE_SHARE = 0.02
SPARE_MIN = 2

log = structlog.get_logger(__name__)

OutcomeHandler = Callable[[Claimed, Outcome, int | None], None]
"""(message, outcome, when it was written on the monotonic clock, or None)."""


class Sender:
    """The lanes of one number. `on_outcome` is called once for every message that `send` was given."""

    def __init__(self, phone_number_id: str, transport: Transport, on_outcome: OutcomeHandler) -> None:
        self._phone_number_id = phone_number_id
        self._transport = transport
        self._on_outcome = on_outcome
        self._queue: deque[Claimed] = deque()
        # With the message that a lane was started for, until it runs: one that never ran has lost nobody.
        self._lanes: dict[asyncio.Task[None], Claimed | None] = {}
        self._parked: list[asyncio.Future[Claimed]] = []  # lanes without a message
        self._may_park = True
        self._open = 0  # messages in lanes
        self.approaching = 0  # messages in lanes, on their way to a permit
        self.failure: BaseException | None = None  # a lane died of a bug
        self._idle = asyncio.Event()
        self._idle.set()
        self.low = asyncio.Event()
        self.low_below = 1
        self.pacer: Pacer  # set by the owner: pacer and sender know each other

    @property
    def queued(self) -> int:
        """Messages claimed and not yet written: in the queue, or in a lane that waits for its permit."""
        return len(self._queue) + self.approaching

    @property
    def under_way(self) -> int:
        """Messages claimed and without outcome."""
        return len(self._queue) + self._open

    def send(self, messages: list[Claimed]) -> None:
        self._may_park = True
        self._queue.extend(messages)
        if messages:
            self._idle.clear()

    def add_lanes(self, count: int, grow: bool = True) -> bool:
        """Have up to `count` lanes on their way, new ones only to `grow`; False with nothing to send."""
        if not self._queue:
            return self.approaching > 0
        for _ in range(min(count - self.approaching, len(self._queue), self._open_max() - self._open)):
            if self._parked:
                self._parked.pop().set_result(self._take())
            elif grow or not self._open:
                message = self._take()
                lane = asyncio.create_task(self._lane(message))
                self._lanes[lane] = message
                lane.add_done_callback(self._lane_ended)
        return True

    async def idle(self) -> None:
        """Return when every message has its outcome."""
        await self._idle.wait()

    def give_back(self) -> None:
        """Nothing more is written: what waits in the queue was certainly not sent."""
        while self._queue:
            self._on_outcome(self._queue.popleft(), NotSent("drained"), None)
        self._may_park = False
        while self._parked:
            self._parked.pop().cancel()
        self._settle()

    def abort(self) -> None:
        """After `give_back`, end the lanes: a request without a reply becomes a doubt."""
        for lane in self._lanes:
            lane.cancel()

    def tell_if_low(self) -> None:
        if self.queued < self.low_below:
            self.low.set()

    def _open_max(self) -> int:
        return int(min(OPEN_MAX, max(8, self.pacer.bucket.limit_per_s * LATENCY_S_MAX)))

    def _take(self) -> Claimed:
        self._open += 1
        self.approaching += 1
        return self._queue.popleft()

    def _lane_ended(self, lane: asyncio.Task[None]) -> None:
        if (message := self._lanes.pop(lane)) is not None:
            self.approaching -= 1
            self._ended(message, NotSent("drained"), None)
        if not lane.cancelled() and (error := lane.exception()) is not None:
            self.failure = error
            self.low.set()

    def _settle(self) -> None:
        if not self._queue and not self._open:
            self._idle.set()

    async def _lane(self, message: Claimed) -> None:
        if (task := asyncio.current_task()) is not None:
            self._lanes[task] = None
        passage = _Passage(self)
        while True:
            await self._attempt(message, passage)
            if self._is_surplus():
                return
            message = self._take() if self._queue else await self._park()

    def _is_surplus(self) -> bool:
        """Whether more lanes wait than the pace needs, or none may."""
        waiting = self.pacer.waiting + len(self._parked)
        return waiting > max(SPARE_MIN, self.pacer.bucket.rate_per_s * SPARE_SHARE) or (
            not self._queue and not self._may_park
        )

    async def _park(self) -> Claimed:
        """Keep the lane until there is a message for it."""
        future: asyncio.Future[Claimed] = asyncio.get_running_loop().create_future()
        self._parked.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if future in self._parked:
                self._parked.remove(future)
            elif not future.cancelled():  # given a message in the moment in which the lane was ended
                self.approaching -= 1
                self._ended(future.result(), NotSent("drained"), None)
            raise

    async def _attempt(self, message: Claimed, passage: "_Passage") -> None:
        passage.enter(message)
        outcome: Outcome | None = None
        try:
            outcome = await self._transport.send(self._phone_number_id, message.payload, passage)
        except Exception as problem:  # a bug must not lose a recipient: it becomes what it can be at worst
            log.exception("attempt_failed_unexpectedly")
            outcome = passage.broken(f"{type(problem).__name__} while sending")
        finally:
            passage.leave()
            self._ended(message, outcome or passage.broken("the process was stopped"), passage.written_ns)

    def _ended(self, message: Claimed, outcome: Outcome, written_ns: int | None) -> None:
        self._open -= 1
        self._on_outcome(message, outcome, written_ns)
        if not self._open and not self._queue:
            self._idle.set()


class _Passage:
    """The gate of one lane: a message is through it when its permit is taken, and then it is written."""

    __slots__ = ("_expires_ns", "_inside", "_sender", "written_ns")

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._inside = False
        self._expires_ns = 0
        self.written_ns: int | None = None

    def enter(self, message: Claimed) -> None:
        """Begin with a message, which the sender has counted among those on their way."""
        self._expires_ns = message.expires_ns
        self._inside = True
        self.written_ns = None

    async def __call__(self) -> bool:
        permitted = await self._sender.pacer.permit(self._expires_ns)
        if permitted:
            self.written_ns = monotonic_ns()
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
