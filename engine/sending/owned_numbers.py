"""The numbers that a process owns: takes, renews, releases and loses leases, and runs a sender for each.

Law: a number whose lease is lost claims nothing more. Its in-flight requests end, and their outcomes are
stored: the new owner's epoch fences claims, not outcomes.

Law: a number that fails, by what its row holds or in its loops, ends no process. It is given up and stopped
until a person resumes it. Then it is taken anew, with another epoch: what the failure left without an outcome
is in doubt.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import structlog

from engine.api.transport import Transport
from engine.clock import monotonic_ns
from engine.core.stops import NumberRest
from engine.errors import DrumbeatError, TryLater
from engine.process.identity import this_process
from engine.sending.containment import concerns_the_process, reason_of
from engine.sending.flow_context import FlowContext
from engine.sending.number_sender import NumberSender
from engine.sending.pacer import Ticker
from engine.store.database import LOST_CONNECTION, Connection
from engine.store.leases import Lease, NumberHeld, Renewal, release_lease, renew_leases, take_lease
from engine.store.queries import queries

REGULATE_PERIOD_S = 0.1
# Of the five seconds in which a signal ends the process:
STOP_CLAIMING_S = 0.5
DRAIN_S = 3.0  # for in-flight requests
RELEASE_S = 1.0  # for the outcomes and ranges of a number that failed

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
        self.failed: set[str] = set()  # given up, and not taken again before a person resumed them
        context.numbers = self.senders

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """The claim loops, and the drains of numbers handed over. If one fails, its number is given up."""
        return [*self._claiming.values(), *self._vacating.values()]

    @property
    def kept(self) -> list[str]:
        """The numbers of `wanted` whose ranges nobody but their owners may release."""
        return [number for number in self.wanted if number not in self.failed]

    async def take(self, connection: Connection, phone_number_ids: Sequence[str]) -> list[Lease]:
        """Take the leases. A worker leaves out numbers that another process owns, and takes them over later.

        Raises NumberHeld for such a number if the numbers are wanted all or none.
        """
        leases: list[Lease] = []
        for phone_number_id in phone_number_ids:
            try:
                with self.contained(phone_number_id):
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
            with suppress(NumberHeld), self.contained(phone_number_id):
                await self.start(connection, [await take_lease(connection, phone_number_id, self.owner)])

    async def take_back(self, connection: Connection) -> None:
        """Take numbers that failed again once a person resumed them; a worker leaves that to its sharing."""
        stored = [number for number in self.failed if not self._context.stop_requests.has_rest_for(number)]
        if not stored:
            return
        resumed = [
            row["phone_number_id"] for row in await connection.fetch(queries("numbers")["resumed"], stored)
        ]
        self.failed.difference_update(resumed)
        if self._all_or_none:
            ours = [number for number in resumed if number in self.wanted]
            await self.take_over(connection, ours)
            self.failed.update(
                number for number in ours if number not in self.senders
            )  # its lease still runs

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
            with self.contained(phone_number_id):
                _raise_failure(self._vacating[phone_number_id])
                await release_lease(connection, self.senders[phone_number_id].lease)
                self._ticker.remove(self.senders[phone_number_id].pacer)
                del self._vacating[phone_number_id], self.senders[phone_number_id]

    async def start(self, connection: Connection, leases: list[Lease]) -> None:
        """Send with taken numbers."""
        if not leases:
            return
        by_number = {lease.phone_number_id: lease for lease in leases}
        for renewal in await renew_leases(connection, leases, [0.0] * len(leases)):
            with self.contained(renewal.phone_number_id):
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

    @contextmanager
    def contained(self, phone_number_id: str) -> Iterator[None]:
        """Give up the number if what is done here for it fails."""
        try:
            yield
        except Exception as error:
            if concerns_the_process(error):
                raise
            self._give_up(phone_number_id, error)

    def _give_up(self, phone_number_id: str, error: Exception) -> None:
        """The worker stores the stop, as if the service had refused the number."""
        if phone_number_id in self.failed:
            return
        log.error("number_failed", number=phone_number_id, exc_info=error)
        self.failed.add(phone_number_id)
        self._context.stop_requests.add(NumberRest(phone_number_id, reason_of(error), None))
        if sender := self.senders.get(phone_number_id):
            self._part_with(sender, self._release_failed(sender))

    async def regulate(self) -> None:
        """Adjust the rates until cancelled, and give up the numbers whose loops failed."""
        while True:
            for phone_number_id, sender in list(self.senders.items()):
                with self.contained(phone_number_id):
                    sender.regulate(monotonic_ns())
                    _raise_failure(self._claiming[phone_number_id])
            await asyncio.sleep(REGULATE_PERIOD_S)

    async def renew(self, connection: Connection) -> bool:
        """Renew the leases, and follow limits and rests; True if a number is to be read from the service."""
        paces = {}
        for phone_number_id, sender in list(self.senders.items()):
            with self.contained(phone_number_id):
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
                continue  # it failed meanwhile
            if renewal is None:
                self._lose(sender)
            else:
                with self.contained(phone_number_id):
                    sender.pace.follow(renewal)

    def _lose(self, sender: NumberSender) -> None:
        """Another process owns the number now."""
        phone_number_id = sender.lease.phone_number_id
        log.warning("number_lost", number=phone_number_id, epoch=sender.lease.epoch)
        self._part_with(sender, self._wind_down(sender))
        if self._all_or_none:
            raise TryLater(f"number {phone_number_id} was taken over by another process")

    def _part_with(self, sender: NumberSender, ending: Coroutine[None, None, None]) -> None:
        """The number is no longer ours to send with, and `ending` ends what is under way."""
        phone_number_id = sender.lease.phone_number_id
        del self.senders[phone_number_id]
        if vacating := self._vacating.pop(phone_number_id, None):
            vacating.cancel()  # it would wait for as long as requests take
        task = asyncio.create_task(ending)
        self._winding_down.add(task)
        task.add_done_callback(self._winding_down.discard)

    async def _release_failed(self, sender: NumberSender) -> None:
        """Leave the ranges of a number that failed to others. The next owner fences what is not released."""
        try:
            await self._wind_down(sender)
            async with asyncio.timeout(RELEASE_S):
                await self._context.results_writer.flushed()
                await sender.release_ranges()
                async with self._context.pool.acquire(timeout=RELEASE_S) as connection:
                    await release_lease(connection, sender.lease)
        except Exception as problem:  # its lease ends by itself
            log.warning(
                "number_not_released", number=sender.lease.phone_number_id, problem=repr(problem)[:200]
            )

    async def _wind_down(self, sender: NumberSender) -> None:
        try:
            await self._stop_claiming([sender], STOP_CLAIMING_S)
            await sender.drain(DRAIN_S)
        finally:
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


def _raise_failure(task: asyncio.Task[None]) -> None:
    """Raise what a task failed with."""
    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
        raise error


async def release_leases(connection: Connection, leases: Sequence[Lease]) -> None:
    for lease in leases:
        await release_lease(connection, lease)
