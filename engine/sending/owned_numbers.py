"""The numbers that a process owns: it takes, renews, releases and loses leases, and runs their senders."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from drumbeat.engine.api.transport import Transport
from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.errors import DrumbeatError, TryLater
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.sending.failed_numbers import FailedNumbers
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.number_drains import NumberDrains
from drumbeat.engine.sending.number_sender import NumberSender
from drumbeat.engine.sending.pacer import Ticker
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.leases import Lease, NumberHeld, Renewal, release_lease, renew_leases, take_lease

REGULATE_PERIOD_S = 0.1

log = get_logger(__name__)


class OwnedNumbers:
    """The numbers of `wanted` that this process owns.

    With `campaign_id` it owns them for this campaign alone, and one that it cannot own is an error.
    """

    def __init__(
        self,
        context: FlowContext,
        transport: Transport,
        ticker: Ticker,
        wanted: Sequence[str],
        *,
        campaign_id: int | None,
    ) -> None:
        self.owner = this_process()
        self.wanted = list(wanted)
        self._campaign_id = campaign_id
        self._context = context
        self._transport = transport
        self._ticker = ticker
        self.senders: dict[str, NumberSender] = {}  # senders of the owned numbers
        self._claiming: dict[str, asyncio.Task[None]] = {}  # claim loops by number, those of lost numbers too
        self._drains = NumberDrains(context, ticker, self._claiming)
        self.failed = FailedNumbers(context.stop_requests, self._part_with_failed)
        context.numbers = self.senders

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """Return claim loops, and drains of numbers handed over. If one fails, its number is given up."""
        return [*self._claiming.values(), *self._drains.vacating.values()]

    async def take(self, connection: Connection, phone_number_ids: Sequence[str]) -> list[Lease]:
        """Take the leases. A worker leaves out numbers that another process owns, and takes them over later.

        Raises NumberHeld for such a number if they are for one campaign.
        """
        leases: list[Lease] = []
        for phone_number_id in phone_number_ids:
            try:
                with self.failed.contained(phone_number_id):
                    leases.append(await self._lease(connection, phone_number_id))
            except DrumbeatError as error:
                if isinstance(error, NumberHeld) and self._campaign_id is None:
                    continue
                await release_leases(connection, leases)
                raise
        return leases

    async def take_over(self, connection: Connection, phone_number_ids: Sequence[str]) -> None:
        """Take numbers that nobody owns, and send with them."""
        for phone_number_id in phone_number_ids:
            with suppress(NumberHeld), self.failed.contained(phone_number_id):
                await self.start(connection, [await self._lease(connection, phone_number_id)])

    async def _lease(self, connection: Connection, phone_number_id: str) -> Lease:
        return await take_lease(connection, phone_number_id, self.owner, self._campaign_id)

    async def take_back(self, connection: Connection) -> None:
        """Take numbers again that failed and that a person resumed. A worker leaves that to its sharing."""
        resumed = await self.failed.take_resumed(connection)
        if self._campaign_id is None:
            return
        ours = [number for number in resumed if number in self.wanted]
        try:
            await self.take_over(connection, ours)
        finally:
            for number in set(ours) - self.senders.keys():
                self.failed.wait_for(number)

    def hand_over(self, phone_number_ids: Sequence[str]) -> None:
        """Begin to drain numbers that other processes should get. `release_drained` ends it."""
        for phone_number_id in set(phone_number_ids) & self.senders.keys() - self._drains.vacating.keys():
            log.info("number_handed_over", number=phone_number_id)
            self._drains.vacate(self.senders[phone_number_id])

    async def release_drained(self, connection: Connection) -> None:
        """Release the leases of numbers that are drained for other processes.

        Do not call it while a renewal is under way: it would move the moment of the release into the future.
        """
        vacating = self._drains.vacating
        for phone_number_id in [number for number, task in vacating.items() if task.done()]:
            with self.failed.contained(phone_number_id):
                raise_failure(vacating[phone_number_id])
                await release_lease(connection, self.senders[phone_number_id].lease)
                self._ticker.remove(self.senders[phone_number_id].pacer)
                del vacating[phone_number_id], self.senders[phone_number_id]

    async def start(self, connection: Connection, leases: list[Lease]) -> None:
        """Send with the numbers of these leases."""
        if not leases:
            return
        by_number = {lease.phone_number_id: lease for lease in leases}
        for renewal in await renew_leases(connection, leases, [0.0] * len(leases)):
            with self.failed.contained(renewal.phone_number_id):
                self._start_one(by_number[renewal.phone_number_id], renewal)
        await release_leases(
            connection, [lease for number, lease in by_number.items() if number not in self.senders]
        )

    def _start_one(self, lease: Lease, renewal: Renewal) -> None:
        sender = NumberSender(self._context, lease, renewal.limit_per_s, self._transport)
        sender.pace.follow(renewal)
        self.senders[lease.phone_number_id] = sender
        self._ticker.add(sender.pacer)
        self._claiming[lease.phone_number_id] = asyncio.create_task(sender.run())
        log.info("number_taken", number=lease.phone_number_id, epoch=lease.epoch, wait_s=lease.wait_s)

    def _part_with_failed(self, phone_number_id: str) -> None:
        if sender := self.senders.pop(phone_number_id, None):
            self._drains.leave_failed(sender)

    async def regulate(self) -> None:
        """Adjust the rates until cancelled, and give up the numbers whose loops failed."""
        while True:
            for phone_number_id, sender in list(self.senders.items()):
                with self.failed.contained(phone_number_id):
                    sender.regulate(monotonic_ns())
                    raise_failure(self._claiming[phone_number_id])
            await asyncio.sleep(REGULATE_PERIOD_S)

    async def renew(self, connection: Connection) -> bool:
        """Renew the leases, and follow limits and rests. True if a number should be read from the service."""
        paces = {}
        for phone_number_id, sender in list(self.senders.items()):
            with self.failed.contained(phone_number_id):
                now_ns = monotonic_ns()
                paces[phone_number_id] = (
                    sender.rate_per_s, sender.achieved_per_s(now_ns), sender.governor.is_slowed(now_ns)
                )  # fmt: skip
        if not paces:
            return False
        senders = [self.senders[phone_number_id] for phone_number_id in paces]
        renewals = await renew_leases(
            connection, [sender.lease for sender in senders], *zip(*paces.values(), strict=True)
        )
        self._follow(senders, {renewal.phone_number_id: renewal for renewal in renewals})
        return any(renewal.outdated for renewal in renewals)

    def _follow(self, senders: Sequence[NumberSender], renewed: Mapping[str, Renewal]) -> None:
        for sender in senders:
            renewal = renewed.get(phone_number_id := sender.lease.phone_number_id)
            if self.senders.get(phone_number_id) is not sender:
                continue  # the number failed meanwhile
            if renewal is None:
                self._lose(sender)
            else:
                with self.failed.contained(phone_number_id):
                    sender.pace.follow(renewal)

    def _lose(self, sender: NumberSender) -> None:
        """Stop with a number that another process owns now."""
        phone_number_id = sender.lease.phone_number_id
        log.warning("number_lost", number=phone_number_id, epoch=sender.lease.epoch)
        del self.senders[phone_number_id]
        self._drains.lose(sender)
        if self._campaign_id is not None:
            raise TryLater(f"number {phone_number_id} was taken over by another process")

    async def drain(self) -> list[NumberSender]:
        """Stop claiming and let in-flight requests end. Return the senders whose ranges and leases can be
        released.
        """
        senders = list(self.senders.values())
        await self._drains.drain(senders)
        return senders


def raise_failure(task: asyncio.Task[None]) -> None:
    """Raise the error with which the task failed, if it did."""
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        raise error


async def release_leases(connection: Connection, leases: Sequence[Lease]) -> None:
    for lease in leases:
        await release_lease(connection, lease)
