"""The ends of a process' work with its numbers: claims stop, requests end, and ranges are released.

Law: a number whose lease is lost claims nothing more. Its in-flight requests end, and their outcomes are
stored: the new owner's epoch fences claims, not outcomes.
"""

import asyncio
from collections.abc import Coroutine, Sequence

from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.number_sender import NumberSender
from drumbeat.engine.sending.pacer import Ticker
from drumbeat.engine.store.database import LOST_CONNECTION
from drumbeat.engine.store.leases import release_lease

# Of the five seconds in which a signal ends the process:
STOP_CLAIMING_S = 0.5
DRAIN_S = 3.0  # for in-flight requests
RELEASE_S = 1.0  # for the outcomes and ranges of a number that failed

log = get_logger(__name__)


class NumberDrains:
    """The drains of one process. `claiming` has the claim loops by number, those of lost numbers too."""

    def __init__(self, context: FlowContext, ticker: Ticker, claiming: dict[str, asyncio.Task[None]]) -> None:
        # drains of numbers that go to another process, by number
        self.vacating: dict[str, asyncio.Task[None]] = {}
        self._context = context
        self._ticker = ticker
        self._claiming = claiming
        # drains of lost and failed numbers, with in-flight requests
        self._winding_down: set[asyncio.Task[None]] = set()

    def vacate(self, sender: NumberSender) -> None:
        """Begin to leave a number to another process. Its lease stays until the drain has ended."""
        self.vacating[sender.lease.phone_number_id] = asyncio.create_task(self._vacate(sender))

    def lose(self, sender: NumberSender) -> None:
        """End the work under way with a number that another process owns now."""
        self._begin(sender, self._wind_down(sender))

    def leave_failed(self, sender: NumberSender) -> None:
        """End the work under way with a number that failed, and release it."""
        self._begin(sender, self._release_failed(sender))

    async def drain(self, senders: Sequence[NumberSender]) -> None:
        """Stop claiming and let in-flight requests end, also of numbers that were lost or failed."""
        await self._stop_claiming(senders, STOP_CLAIMING_S)
        await asyncio.gather(*(sender.drain(DRAIN_S) for sender in senders), *self._winding_down)

    def _begin(self, sender: NumberSender, ending: Coroutine[None, None, None]) -> None:
        if vacating := self.vacating.pop(sender.lease.phone_number_id, None):
            vacating.cancel()  # it would wait for as long as requests take
        task = asyncio.create_task(ending)
        self._winding_down.add(task)
        task.add_done_callback(self._winding_down.discard)

    async def _release_failed(self, sender: NumberSender) -> None:
        """Leave the ranges of a failed number to others. The next owner fences any that are not released."""
        try:
            await self._wind_down(sender)
            async with asyncio.timeout(RELEASE_S):
                await self._context.results_writer.flushed()
                await sender.release_ranges()
                async with self._context.pool.acquire(timeout=RELEASE_S) as connection:
                    await release_lease(connection, sender.lease)
        except Exception as problem:  # its lease ends by itself
            number = sender.lease.phone_number_id
            log.warning("number_not_released", number=number, problem=repr(problem)[:200])

    async def _wind_down(self, sender: NumberSender) -> None:
        try:
            await self._stop_claiming([sender], STOP_CLAIMING_S)
            await sender.drain(DRAIN_S)
        finally:
            self._ticker.remove(sender.pacer)

    async def _vacate(self, sender: NumberSender) -> None:
        """Drain a number and release its ranges. Nothing is cut short, so no recipient is in doubt
        afterwards.

        The drain is cancelled if the number is lost or fails meanwhile.
        """
        await self._stop_claiming([sender], None)
        await sender.drain(None)
        while True:
            try:
                await self._context.results_writer.flushed()
                await sender.release_ranges()
                return
            except LOST_CONNECTION as problem:
                self._context.database_away.report(part="hand-over", problem=type(problem).__name__)
                await asyncio.sleep(self._context.timing.down_s)

    async def _stop_claiming(self, senders: Sequence[NumberSender], timeout_s: float | None) -> None:
        """Stop the claims of these numbers, and wait for claims under way. Their messages are then in the
        sender's queue.

        A statement that hangs for longer may still claim later. The next owner of the range puts that claim
        in doubt. `timeout_s` None: statements end by their own time limits.
        """
        for sender in senders:
            sender.stop()
        claiming = [self._claiming[sender.lease.phone_number_id] for sender in senders]
        if claiming:
            _, stuck = await asyncio.wait(claiming, timeout=timeout_s)
            for task in stuck:
                task.cancel()
