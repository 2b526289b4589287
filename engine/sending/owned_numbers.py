"""The numbers that a process owns: takes, renews, releases and loses leases, and runs a sender for each.

Law: a number whose lease is lost claims nothing more. Its in-flight requests end, and their outcomes are
stored: the new owner's epoch fences claims, not outcomes.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import structlog

from engine.api.transport import Transport
from engine.clock import monotonic_ns
from engine.errors import DrumbeatError, TryLater
from engine.process.identity import this_process
from engine.sending.flow_context import FlowContext
from engine.sending.number_sender import NumberSender
from engine.sending.pacer import Ticker
from engine.store.database import LOST_CONNECTION, Connection
from engine.store.leases import Lease, NumberHeld, release_lease, renew_leases, take_lease

REGULATE_PERIOD_S = 0.1
# Of the five seconds in which a signal ends the process:
STOP_CLAIMING_S = 0.5
DRAIN_S = 3.0  # for in-flight requests

log = structlog.get_logger(__name__)


class OwnedNumbers:
    """The numbers of `wanted` that this process owns. `all_or_none`: one that it does not own is an error."""

    def __init__(
        self,
        context: FlowContext,
        transport: Transport,
        ticker: Ticker,
        wanted: Sequence[str],
        *,
        all_or_none: bool,
    ) -> None:
        self.owner = this_process()
        self.wanted = list(wanted)
        self._all_or_none = all_or_none
        self._context = context
        self._transport = transport
        self._ticker = ticker
        self.senders: dict[str, NumberSender] = {}  # of the owned ones
        self._claiming: dict[str, asyncio.Task[None]] = {}  # by number, those of lost numbers too
        self._winding_down: set[asyncio.Task[None]] = set()  # lost numbers with in-flight requests
        self._vacating: dict[str, asyncio.Task[None]] = {}  # by number, those that go to another process
        context.numbers = self.senders

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """The claim loops, and the drains of numbers handed over. One that failed has found a bug."""
        return [*self._claiming.values(), *self._vacating.values()]

    async def take(self, connection: Connection, phone_number_ids: Sequence[str]) -> list[Lease]:
        """Take the leases. A worker leaves out numbers that another process owns, and takes them over later.

        Raises NumberHeld for such a number if the numbers are wanted all or none.
        """
        leases: list[Lease] = []
        for phone_number_id in phone_number_ids:
            try:
                leases.append(await take_lease(connection, phone_number_id, self.owner))
            except DrumbeatError as error:
                if isinstance(error, NumberHeld) and not self._all_or_none:
                    continue
                await release_leases(connection, leases)
                raise
        return leases

    async def take_over(self, connection: Connection, phone_number_ids: Sequence[str]) -> None:
        """Take numbers that nobody owns, and send with them."""
        for phone_number_id in phone_number_ids:
            with suppress(NumberHeld):
                await self.start(connection, [await take_lease(connection, phone_number_id, self.owner)])

    def hand_over(self, phone_number_ids: Sequence[str]) -> None:
        """Begin to drain numbers that other processes are to have; `release_drained` ends it."""
        for phone_number_id in set(phone_number_ids) & self.senders.keys() - self._vacating.keys():
            log.info("number_handed_over", number=phone_number_id)
            self._vacating[phone_number_id] = asyncio.create_task(self._vacate(self.senders[phone_number_id]))

    async def release_drained(self, connection: Connection) -> None:
        """Release the leases of numbers that are drained for other processes.

        Not while a renewal is under way: it would move the moment of the release into the future.
        """
        for phone_number_id in [number for number, task in self._vacating.items() if task.done()]:
            await release_lease(connection, self.senders[phone_number_id].lease)
            self._ticker.remove(self.senders[phone_number_id].pacer)
            del self._vacating[phone_number_id], self.senders[phone_number_id]

    async def start(self, connection: Connection, leases: list[Lease]) -> None:
        """Send with taken numbers."""
        if not leases:
            return
        by_number = {lease.phone_number_id: lease for lease in leases}
        for renewal in await renew_leases(connection, leases, [0.0] * len(leases)):
            lease = by_number[renewal.phone_number_id]
            sender = NumberSender(self._context, lease, renewal.limit_per_s, self._transport)
            sender.pace.follow(renewal)
            self.senders[lease.phone_number_id] = sender
            self._ticker.add(sender.pacer)
            self._claiming[lease.phone_number_id] = asyncio.create_task(sender.run())
            log.info("number_taken", number=lease.phone_number_id, epoch=lease.epoch, wait_s=lease.wait_s)

    async def regulate(self) -> None:
        """Adjust the rates until cancelled."""
        while True:
            for sender in self.senders.values():
                sender.regulate(monotonic_ns())
            await asyncio.sleep(REGULATE_PERIOD_S)

    async def renew(self, connection: Connection) -> bool:
        """Renew the leases, and follow limits and rests; True if a number is to be read from the service."""
        senders = list(self.senders.values())
        if not senders:
            return False
        renewals = await renew_leases(
            connection,
            [sender.lease for sender in senders],
            [sender.rate_per_s for sender in senders],
            [sender.achieved_per_s(monotonic_ns()) for sender in senders],
            [sender.governor.is_slowed(monotonic_ns()) for sender in senders],
        )
        renewed = {renewal.phone_number_id: renewal for renewal in renewals}
        for sender in senders:
            renewal = renewed.get(sender.lease.phone_number_id)
            if renewal is None:
                self._lose(sender)
            else:
                sender.pace.follow(renewal)
        return any(renewal.outdated for renewal in renewals)

    def _lose(self, sender: NumberSender) -> None:
        """Another process owns the number now."""
        phone_number_id = sender.lease.phone_number_id
        log.warning("number_lost", number=phone_number_id, epoch=sender.lease.epoch)
        del self.senders[phone_number_id]
        if vacating := self._vacating.pop(phone_number_id, None):
            vacating.cancel()  # it would wait for as long as requests take
        task = asyncio.create_task(self._wind_down(sender))
        self._winding_down.add(task)
        task.add_done_callback(self._winding_down.discard)
        if self._all_or_none:
            raise TryLater(f"number {phone_number_id} was taken over by another process")

    async def _wind_down(self, sender: NumberSender) -> None:
        await self._stop_claiming([sender], STOP_CLAIMING_S)
        await sender.drain(DRAIN_S)
        self._ticker.remove(sender.pacer)

    async def _vacate(self, sender: NumberSender) -> None:
        """Drain a number and release its ranges. Nothing is cut short, so nobody is in doubt afterwards."""
        await self._stop_claiming([sender], None)
        await sender.drain(None)
        while self.senders.get(sender.lease.phone_number_id) is sender:
            try:
                await self._context.results_writer.flushed()
                await sender.release_ranges()
                return
            except LOST_CONNECTION as problem:
                self._context.database_away.report(part="hand-over", problem=type(problem).__name__)
                await asyncio.sleep(self._context.timing.down_s)

    async def _stop_claiming(self, senders: Sequence[NumberSender], timeout_s: float | None) -> None:
        """When this returns no claim is under way: what a claim had committed is in the sender's queue.

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

    async def drain(self) -> list[NumberSender]:
        """Stop claiming and let in-flight requests end; returns whose ranges and leases can be released."""
        senders = list(self.senders.values())
        await self._stop_claiming(senders, STOP_CLAIMING_S)
        await asyncio.gather(*(sender.drain(DRAIN_S) for sender in senders), *self._winding_down)
        return senders


async def release_leases(connection: Connection, leases: Sequence[Lease]) -> None:
    for lease in leases:
        await release_lease(connection, lease)
