"""The sender of messages without a free connection. A task for each opens one and waits for its permit."""

import asyncio
from collections.abc import Callable

from drumbeat.engine.api.transport import Transport
from drumbeat.engine.core.outcome import NotSent, Outcome, Unknown
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.claimed_queue import ClaimedQueue
from drumbeat.engine.sending.messages import ClaimedMessage
from drumbeat.engine.sending.pacer import Pacer

log = get_logger(__name__)

OutcomeHandler = Callable[[ClaimedMessage, Outcome, int | None], None]
"""The handler of an outcome: the message, its outcome, when it was written (monotonic clock) or None."""


class ConnectionOpener:
    """An opener of one number. It calls `on_outcome` once for each message of `open_for`,
    `on_bug` for a bug.
    """

    def __init__(
        self,
        phone_number_id: str,
        transport: Transport,
        pacer: Pacer,
        queue: ClaimedQueue,
        on_outcome: OutcomeHandler,
        on_bug: Callable[[BaseException], None],
    ) -> None:
        self._phone_number_id = phone_number_id
        self._transport = transport
        self._pacer = pacer
        self._queue = queue
        self._on_outcome = on_outcome
        self._on_bug = on_bug
        # A task's message is here until the task runs: a task that is cancelled before that never runs at
        # all.
        self._tasks: dict[asyncio.Task[None], ClaimedMessage | None] = {}

    def open_for(self, message: ClaimedMessage) -> None:
        """Send a message that was taken from the queue."""
        self._queue.connecting += 1
        task = asyncio.create_task(self._send(message))
        self._tasks[task] = message
        task.add_done_callback(self._task_ended)

    def abort(self) -> None:
        """End requests in flight. A request without a reply becomes Unknown."""
        for task in self._tasks:
            task.cancel()

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        if (message := self._tasks.pop(task)) is not None:
            self._queue.connecting -= 1
            self._on_outcome(message, NotSent("drained"), None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_bug(error)

    async def _send(self, message: ClaimedMessage) -> None:
        if (task := asyncio.current_task()) is not None:
            self._tasks[task] = None
        gate = _PermitGate(self._pacer, self._queue, message.expires_ns)
        outcome: Outcome | None = None
        try:
            outcome = await self._transport.send(self._phone_number_id, message.payload, gate)
        # a bug must not lose a recipient: assume the worst that may have happened
        except Exception as problem:
            log.exception("attempt_failed_unexpectedly")
            outcome = gate.interrupted(f"{type(problem).__name__} while sending")
        finally:
            gate.close()
            outcome = outcome or gate.interrupted("the process was stopped")
            # The connection may have broken after the permit was taken.
            written_ns = None if type(outcome) is NotSent else gate.written_ns
            self._on_outcome(message, outcome, written_ns)


class _PermitGate:
    """A gate that the transport calls with a free connection: it waits for the permit; the write follows."""

    __slots__ = ("_closed", "_expires_ns", "_pacer", "_queue", "written_ns")

    def __init__(self, pacer: Pacer, queue: ClaimedQueue, expires_ns: int) -> None:
        self._pacer, self._queue, self._expires_ns = pacer, queue, expires_ns
        self._closed = False
        self.written_ns: int | None = None

    async def __call__(self) -> bool:
        permitted = await self._pacer.permit(self._expires_ns)
        if permitted:
            self.written_ns = self._pacer.bucket.last_ns
        self.close()
        return permitted

    def close(self) -> None:
        """Note that the message waits for nothing more."""
        if not self._closed:
            self._closed = True
            self._queue.connecting -= 1
            self._queue.signal_if_low()

    def interrupted(self, reason: str) -> Outcome:
        """Return the outcome of a request that ended without one."""
        return NotSent("drained") if self.written_ns is None else Unknown(reason)
