"""The life of a process that sends: take numbers, keep them and its campaigns in order, drain, release."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from math import inf

from drumbeat.engine.api.transport import Transport
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.campaign_health import CampaignHealth
from drumbeat.engine.sending.campaign_housekeeping import CampaignHousekeeping
from drumbeat.engine.sending.campaign_reader import CampaignReader
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.header_file_renewal import HeaderFileRenewal
from drumbeat.engine.sending.number_refresh import NumberRefresh
from drumbeat.engine.sending.number_sender import NumberSender
from drumbeat.engine.sending.number_sharing import NumberSharing
from drumbeat.engine.sending.owned_numbers import OwnedNumbers, raise_failure, release_leases
from drumbeat.engine.sending.pacer import Ticker
from drumbeat.engine.sending.template_watch import TemplateWatch
from drumbeat.engine.store.abandoned_numbers import recover_abandoned_numbers
from drumbeat.engine.store.database import LOST_CONNECTION, Connection
from drumbeat.engine.store.queries import queries

CANCEL_PERIOD_S = 0.1
# Of the five seconds in which a signal ends the process:
STOP_CONTROL_S = 0.5
STORE_S = 1.0  # for outcomes and for the release of ranges and leases

log = get_logger(__name__)

OnOwned = Callable[[Connection], Awaitable[None]]


async def do_nothing(_: Connection) -> None:
    """Do nothing: the default of `on_owned`."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of the work: `state` and `reason` of the one campaign; both empty for a worker."""

    state: str = ""
    reason: str = ""
    drained: bool = True


class Worker:
    """A worker: it sends every running campaign, or only that with `campaign_id`, with the
    numbers it owns.
    """

    def __init__(
        self,
        context: FlowContext,
        transport: Transport,
        reader: CampaignReader,
        phone_number_ids: Sequence[str],
        campaign_id: int | None,
        read_numbers: Callable[[], Awaitable[None]],
        template_watch: TemplateWatch,
        on_owned: OnOwned = do_nothing,
    ) -> None:
        """Set up the worker. `read_numbers` reads the numbers from the service; its errors are logged, never
        fatal.

        `on_owned` is called once the numbers are owned. If it raises, the leases are released.
        """
        self._context = context
        self._reader = reader
        self._campaign_id = campaign_id
        self._on_owned = on_owned
        self._ticker = Ticker()
        self._numbers = OwnedNumbers(
            context, transport, self._ticker, phone_number_ids, campaign_id=campaign_id
        )
        self._sharing = NumberSharing(context, self._numbers) if campaign_id is None else None
        self._housekeeping = CampaignHousekeeping(context, campaign_id)
        self._health = CampaignHealth(context)
        self._number_refresh = NumberRefresh(read_numbers, context.timing.reread_period_s)
        self._file_renewal = HeaderFileRenewal(context.pool, context.campaign_cache, context.open_uploads)
        self._template_watch = template_watch
        self._side_tasks: dict[str, asyncio.Task[None]] = {}  # side tasks by the name of their work
        self.senders = self._numbers.senders
        self.has_started = False  # the process has taken the numbers that it could get
        self._ended = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> RunEnd:
        """Send until `stop` is set or the one campaign ends.

        Raises NumberHeld if another process owns a number of the one campaign.
        """
        tasks = self._start_services()
        try:
            await self._take_numbers()
            self.has_started = True
            tasks.append(control := asyncio.create_task(self._control()))
            try:
                await self._until_end(stop, tasks)
            finally:
                await _cancel_all([control], STOP_CONTROL_S)  # or it could start senders that nobody drains
                drained = await self._drain()
        finally:
            await _cancel_all([*tasks, *self._numbers.tasks, *self._side_tasks.values()])
        return await self._end(drained)

    def _start_services(self) -> list[asyncio.Task[None]]:
        writer, batcher = self._context.results_writer, self._context.claim_batcher
        services = (
            self._ticker.run,
            writer.run,
            batcher.run,
            self._numbers.regulate,
            self._context.access_token.watch,
        )
        return [asyncio.create_task(run()) for run in services]

    async def _take_numbers(self) -> None:
        async with self._context.pool.acquire(timeout=10) as connection:
            wanted = await self._sharing.begin(connection) if self._sharing else self._numbers.wanted
            # taken first, so that a refused run changes nothing
            leases = await self._numbers.take(connection, wanted)
            try:
                await self._on_owned(connection)
                await self._housekeeping.move_due(connection)
                await self._context.quotas.refresh(connection)  # read before the first claim
                await self._reader.refresh(connection)
            except BaseException:
                await release_leases(connection, leases)
                raise
            await self._numbers.start(connection, leases)

    async def _until_end(self, stop: asyncio.Event, tasks: Sequence[asyncio.Task[None]]) -> None:
        waits = [asyncio.create_task(stop.wait()), asyncio.create_task(self._ended.wait())]
        await asyncio.wait([*waits, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        _raise_failure(tasks)

    async def _control(self) -> None:
        """Do everything in the database except sending, a few times a second and when a stop is requested."""
        context = self._context
        while not self._ended.is_set():
            try:
                async with context.pool.acquire(timeout=5) as connection:
                    await self._control_once(connection)
                context.database_away.resolve()
            except LOST_CONNECTION as problem:
                context.database_away.report(part="control", problem=type(problem).__name__)
            await context.stop_requests.wait(context.timing.control_period_s)

    async def _control_once(self, connection: Connection) -> None:
        await self._context.stop_requests.store(connection)
        if await self._numbers.renew(connection) and self._number_refresh.allowed:
            self._start_side_task("refresh", self._number_refresh.run)
        await self._housekeeping.move_due(connection)
        await self._context.quotas.refresh(connection)
        if await self._template_watch.find_due(connection):
            self._start_side_task("templates", self._template_watch.run)
        await self._reader.refresh(connection)
        if self._housekeeping.to_close:
            self._start_side_task("closing", self._housekeeping.close_ended)
        if self._file_renewal.is_due:
            self._start_side_task("header files", self._file_renewal.run)
        await self._numbers.take_back(connection)
        if self._sharing is not None:
            await self._sharing.balance(connection)
        owner, failed = self._numbers.owner, self._numbers.failed
        ours = failed.others_of(self._numbers.wanted)  # nobody but their owners may release their ranges
        await recover_abandoned_numbers(connection, owner, ours, failed.contained)
        self._context.descriptors_short.check_quiet(self._context.timing.descriptors_quiet_ns)
        await self._health.check(connection)
        await self._housekeeping.sample_rates(connection)
        await self._housekeeping.finish(connection)
        if self._campaign_id is not None and self._campaign_id not in self._context.campaign_cache.running:
            self._ended.set()
        _raise_failure(self._side_tasks.values())

    def _start_side_task(self, name: str, work: Callable[[], Coroutine[None, None, None]]) -> None:
        """Start work that may take longer than a lease lasts, unless the same work is still under way."""
        before = self._side_tasks.get(name)
        if before is None or before.done():
            self._side_tasks[name] = asyncio.create_task(work())

    async def _drain(self) -> bool:
        """Let in-flight requests end, store outcomes, release ranges and leases.

        Returns False if the database did not answer in time. Its connections are closed then.
        """
        if self._sharing is not None:
            self._start_side_task("leaving", self._sharing.leave)
        senders = await self._numbers.drain()
        # A statement that hangs ignores a cancellation; closing its connection ends it.
        deadline = asyncio.get_running_loop().call_later(STORE_S, self._context.pool.terminate)
        try:
            async with asyncio.timeout(STORE_S):
                await self._release(senders)
        except (TimeoutError, *LOST_CONNECTION):
            log.warning("drain_incomplete", pending=self._context.results_writer.pending)
            self._context.pool.terminate()
            return False
        finally:
            deadline.cancel()
        return True

    async def _release(self, senders: Sequence[NumberSender]) -> None:
        await self._context.results_writer.flushed()
        for sender in senders:
            await sender.release_ranges()
        async with self._context.pool.acquire() as connection:
            await self._context.stop_requests.store(connection)
            await self._context.quotas.flush(connection)
            await release_leases(connection, [sender.lease for sender in senders])
        log.info("leases_released", numbers=[sender.lease.phone_number_id for sender in senders])

    async def _end(self, drained: bool) -> RunEnd:
        if self._campaign_id is None or not drained:
            return RunEnd(drained=drained)
        await self._housekeeping.close_ended()
        try:
            async with self._context.pool.acquire(timeout=2) as connection:
                row = await connection.fetchrow(queries("campaign_cache")["state"], self._campaign_id)
        except LOST_CONNECTION:
            row = None
        if row is None:
            return RunEnd(drained=False)
        return RunEnd(row["state"], row["reason"], drained)


def _raise_failure(tasks: Iterable[asyncio.Task[None]]) -> None:
    """End the process with the error of a task that failed by itself."""
    for task in tasks:
        raise_failure(task)


async def _cancel_all(tasks: Sequence[asyncio.Task[None]], within_s: float = inf) -> None:
    """Cancel the tasks repeatedly until they end. If a connection breaks under a cancellation, its task does
    not see the cancellation.
    """
    pending, started_s = {task for task in tasks if not task.done()}, time.monotonic()
    while pending and time.monotonic() - started_s < within_s:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_PERIOD_S)
