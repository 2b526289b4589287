"""The life of a process that sends: take numbers, keep leases, look after campaigns, drain, give back."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf

import structlog

from engine.api.transport import Transport
from engine.clock import SECOND_NS, monotonic_ns
from engine.core.states import CampaignEvent, ReasonCode
from engine.errors import DrumbeatError, TryLater
from engine.pacer import Ticker
from engine.process.identity import this_process
from engine.sending.flow_context import AccountStop, CampaignPause, NumberRest, Order, Shared
from engine.sending.number_sender import NumberSender
from engine.store.campaign_states import apply_if_allowed
from engine.store.closing import close_ranges, finish_campaign
from engine.store.database import LOST_CONNECTION, Connection
from engine.store.in_doubt import resend_by_policy
from engine.store.leases import Lease, NumberHeld, release, renew, suspend, take, takeable
from engine.store.leases import stop as stop_number
from engine.store.queries import queries
from engine.store.recovery import recover_abandoned

CONTROL_PERIOD_S = 0.4  # a pause, a new limit, a lost number: all within a second
REGULATE_PERIOD_S = 0.1
REREAD_PERIOD_S = 60.0  # a reading is one management call or more, of 200 an hour
CANCEL_PERIOD_S = 0.1
DESCRIPTORS_QUIET_NS = 10 * SECOND_NS  # in which whoever wants a connection has asked again
# Of the five seconds in which a signal ends the process:
STOP_CONTROL_S = 0.5
STOP_CLAIMING_S = 0.5
DRAIN_S = 3.0  # for open requests
STORE_S = 1.0  # for outcomes and for giving back

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How the work ended: `state` and `reason` of the one campaign, or empty for a worker."""

    state: str = ""
    reason: str = ""
    drained: bool = True


class Worker:
    """Owns some numbers and sends what the board says. `run` until `stop` is set or the one campaign ends."""

    def __init__(
        self,
        shared: Shared,
        transport: Transport,
        phone_number_ids: Sequence[str],
        campaign_id: int | None,
        refresh: Callable[[], Awaitable[None]],
    ) -> None:
        """`refresh` reads the numbers from the service again; what it raises is logged, never fatal."""
        self._shared = shared
        self._transport = transport
        self._wanted = list(phone_number_ids)
        self._campaign_id = campaign_id
        self._owner = this_process()
        self._ticker = Ticker()
        self._flows: dict[str, NumberSender] = {}
        self._claiming: dict[str, asyncio.Task[None]] = {}  # by number, those of lost ones too
        self._beside: dict[str, asyncio.Task[None]] = {}  # by what they do: it may take long
        self._leaving: set[asyncio.Task[None]] = set()  # of lost numbers: their open requests end
        self._ended = asyncio.Event()
        self._refresh = refresh
        self._reread_after_s = 0.0

    async def run(self, stop: asyncio.Event) -> RunEnd:
        """Send until told to stop. Raises NumberHeld where the one campaign's number is owned elsewhere."""
        shared = self._shared
        parts = (self._ticker.run, shared.results_writer.run, shared.claim_batcher.run, self._regulate)
        background = [asyncio.create_task(part()) for part in parts]
        try:
            await self._take_numbers()
            background.append(control := asyncio.create_task(self._control()))
            try:
                await self._until_end(stop, background)
            finally:
                await _cancel_all([control], STOP_CONTROL_S)  # or it would start flows that nobody drains
                drained = await self._drain()
        finally:
            await _cancel_all([*background, *self._claiming.values(), *self._beside.values()])
        return await self._end(drained)

    async def _until_end(self, stop: asyncio.Event, background: list[asyncio.Task[None]]) -> None:
        waits = [asyncio.create_task(stop.wait()), asyncio.create_task(self._ended.wait())]
        await asyncio.wait([*waits, *background], return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        for task in background:
            if task.done():
                task.result()  # a part that ends by itself has failed: say so

    async def _take_numbers(self) -> None:
        async with self._shared.pool.acquire(timeout=10) as connection:
            await self._shared.campaign_cache.move_due(connection)
            leases: list[Lease] = []
            for phone_number_id in self._wanted:
                try:
                    leases.append(await take(connection, phone_number_id, self._owner))
                except DrumbeatError as error:
                    if isinstance(error, NumberHeld) and self._campaign_id is None:
                        continue  # it is taken over when its owner is gone
                    await _give_back(connection, leases)
                    raise
            await self._shared.campaign_cache.look(connection)  # it tells what runs here: not before it does
            await self._start(connection, leases)

    async def _retake(self, connection: Connection) -> None:
        """A worker takes over numbers whose owner is gone."""
        missing = [phone_number_id for phone_number_id in self._wanted if phone_number_id not in self._flows]
        for phone_number_id in await takeable(connection, missing) if missing else ():
            with suppress(NumberHeld):
                await self._start(connection, [await take(connection, phone_number_id, self._owner)])

    async def _start(self, connection: Connection, leases: list[Lease]) -> None:
        if not leases:
            return
        for renewal in await renew(connection, leases, [0.0] * len(leases)):
            lease = next(one for one in leases if one.phone_number_id == renewal.phone_number_id)
            flow = NumberSender(self._shared, lease, renewal.limit_per_s, self._transport)
            flow.renewed(renewal)
            self._flows[lease.phone_number_id] = self._shared.numbers[lease.phone_number_id] = flow
            self._ticker.add(flow.pacer)
            self._claiming[lease.phone_number_id] = asyncio.create_task(flow.run())
            log.info("number_taken", number=lease.phone_number_id, epoch=lease.epoch, wait_s=lease.wait_s)

    async def _regulate(self) -> None:
        while True:
            for flow in self._flows.values():
                flow.regulate(monotonic_ns())
            await asyncio.sleep(REGULATE_PERIOD_S)

    async def _control(self) -> None:
        """Everything that the process does in the database beside sending."""
        while not self._ended.is_set():
            try:
                async with self._shared.pool.acquire(timeout=5) as connection:
                    await self._control_once(connection)
                self._shared.database_away.is_over()
            except LOST_CONNECTION as problem:
                self._shared.database_away.met(part="control", problem=type(problem).__name__)
            await self._wait_for_order(CONTROL_PERIOD_S)

    async def _control_once(self, connection: Connection) -> None:
        await self._carry_out_orders(connection)
        await self._renew(connection)
        await self._shared.campaign_cache.refresh(connection)
        self._begin_closing()
        if self._campaign_id is None:
            await self._retake(connection)
        await recover_abandoned(connection, self._owner, self._wanted)
        self._shared.descriptors_short.look(DESCRIPTORS_QUIET_NS)
        await self._finish_campaigns(connection)
        if self._campaign_id is not None and self._campaign_id not in self._shared.campaign_cache.running:
            self._ended.set()
        for task in (*self._claiming.values(), *self._beside.values()):
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _wait_for_order(self, timeout_s: float) -> None:
        """Sleep until the next round, or until an order comes."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._shared.ordered.wait(), timeout_s)
        self._shared.ordered.clear()

    async def _carry_out_orders(self, connection: Connection) -> None:
        orders = self._shared.orders
        for order in list(orders.values()):
            await self._carry_out(connection, order)
            if orders.get(order) is order:  # or a longer rest was ordered meanwhile
                del orders[order]

    async def _carry_out(self, connection: Connection, order: Order) -> None:
        match order:
            case CampaignPause(campaign_id, reason, code):
                await self._pause(connection, campaign_id, reason, code)
            case AccountStop(reason, code):
                for campaign_id in self._shared.campaign_cache.running:
                    await self._pause(connection, campaign_id, reason, code)
            case NumberRest():
                await _let_rest(connection, order)

    async def _pause(self, connection: Connection, campaign_id: int, reason: str, code: ReasonCode) -> None:
        log.warning("campaign_paused", **self._shared.campaign_cache.told(campaign_id), reason=reason)
        await apply_if_allowed(connection, campaign_id, CampaignEvent.PAUSE, reason, code)
        self._shared.campaign_cache.paused(campaign_id)

    async def _renew(self, connection: Connection) -> None:
        flows = list(self._flows.values())
        if not flows:
            return
        renewals = await renew(
            connection, [flow.lease for flow in flows], [flow.rate_per_s for flow in flows]
        )
        renewed = {renewal.phone_number_id: renewal for renewal in renewals}
        for flow in flows:
            renewal = renewed.get(flow.lease.phone_number_id)
            if renewal is None:
                self._lose(flow)
            else:
                flow.renewed(renewal)
        if any(renewal.outdated for renewal in renewals):
            self._refresh_numbers()

    def _begin_closing(self) -> None:
        """Beside everything else: closing a large campaign takes longer than a lease lasts."""
        if self._shared.campaign_cache.to_close:
            self._begin_beside("closing", self._close_ended)

    def _begin_beside(self, name: str, work: Callable[[], Coroutine[None, None, None]]) -> bool:
        """Begin it, unless it is still under way."""
        before = self._beside.get(name)
        if before is not None and not before.done():
            return False
        self._beside[name] = asyncio.create_task(work())
        return True

    async def _close_ended(self) -> None:
        to_close = self._shared.campaign_cache.to_close
        try:
            while to_close:
                campaign_id, reason = next(iter(to_close.items()))
                async with self._shared.pool.acquire(timeout=5) as connection:
                    await close_ranges(connection, campaign_id, reason)
                del to_close[campaign_id]
        except LOST_CONNECTION as problem:
            self._shared.database_away.met(part="closing", problem=type(problem).__name__)

    def _refresh_numbers(self) -> None:
        """Read the numbers again, beside all else; not more often than the budget of such calls bears."""
        now_s = time.monotonic()
        if now_s >= self._reread_after_s and self._begin_beside("refresh", self._read_numbers):
            self._reread_after_s = now_s + REREAD_PERIOD_S

    async def _read_numbers(self) -> None:
        try:
            await self._refresh()
        except Exception as problem:  # whatever the service lists, sending goes on with what is known
            log.warning("numbers_not_read", problem=f"{type(problem).__name__}: {problem}"[:200])
            if isinstance(problem, TryLater) and problem.wait_s:
                self._reread_after_s = time.monotonic() + problem.wait_s

    def _lose(self, flow: NumberSender) -> None:
        """Another owner has the number: claim nothing more. What is open ends; facts are still stored."""
        phone_number_id = flow.lease.phone_number_id
        log.warning("number_lost", number=phone_number_id, epoch=flow.lease.epoch)
        del self._flows[phone_number_id], self._shared.numbers[phone_number_id]
        leaving = asyncio.create_task(self._wind_down(flow))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
        if self._campaign_id is not None:
            raise TryLater(f"number {phone_number_id} was taken over by another process")

    async def _wind_down(self, flow: NumberSender) -> None:
        await self._stop_claiming([flow])
        await flow.drain(DRAIN_S)
        self._ticker.remove(flow.pacer)

    async def _finish_campaigns(self, connection: Connection) -> None:
        await resend_by_policy(
            connection, quiet_s=self._shared.service.silence_s
        )  # before the end is looked for, so that the run goes on with them
        for campaign_id in self._shared.campaign_cache.running:
            if await connection.fetchval(queries("closing")["has_open_ranges"], campaign_id):
                await self._look_at_resting(connection, campaign_id)
                continue
            if (unknown := await finish_campaign(connection, campaign_id)) is not None:
                log.info(
                    "campaign_finished", **self._shared.campaign_cache.told(campaign_id), unknown=unknown
                )

    async def _look_at_resting(self, connection: Connection, campaign_id: int) -> None:
        """A campaign whose numbers were all stopped until a person looks waits for that person."""
        numbers = list(self._shared.campaign_cache[campaign_id].phone_number_ids)
        reason = await connection.fetchval(queries("leases")["all_stopped"], numbers)
        if reason is not None:
            self._shared.order(
                CampaignPause(campaign_id, f"every number is stopped: {reason}", ReasonCode.NUMBERS_STOPPED)
            )

    async def _stop_claiming(self, flows: Sequence[NumberSender]) -> None:
        """Nobody waits for a claim when this returns: what one had committed is in the sender's queue.

        A statement that hangs may claim later; the next owner of the range names that doubt.
        """
        for flow in flows:
            flow.stop()
        claiming = [self._claiming[flow.lease.phone_number_id] for flow in flows]
        if claiming:
            _, stuck = await asyncio.wait(claiming, timeout=STOP_CLAIMING_S)
            for task in stuck:
                task.cancel()

    async def _drain(self) -> bool:
        """Open requests end, outcomes are stored, ranges and numbers given back.

        False where the database did not answer in time: its connections are closed then.
        """
        flows = list(self._flows.values())
        await self._stop_claiming(flows)
        await asyncio.gather(*(flow.drain(DRAIN_S) for flow in flows), *self._leaving)
        # A statement that hangs does not heed a cancellation either: closing its connection ends it.
        deadline = asyncio.get_running_loop().call_later(STORE_S, self._shared.pool.terminate)
        try:
            async with asyncio.timeout(STORE_S):
                await self._give_everything_back(flows)
        except (TimeoutError, *LOST_CONNECTION):
            log.warning("drain_incomplete", pending=self._shared.results_writer.pending)
            self._shared.pool.terminate()
            return False
        finally:
            deadline.cancel()
        return True

    async def _give_everything_back(self, flows: Sequence[NumberSender]) -> None:
        await self._shared.results_writer.flushed()
        for flow in flows:
            await flow.release()
        async with self._shared.pool.acquire() as connection:
            await self._carry_out_orders(connection)
            await _give_back(connection, [flow.lease for flow in flows])
        log.info("leases_released", numbers=[flow.lease.phone_number_id for flow in flows])

    async def _end(self, drained: bool) -> RunEnd:
        if self._campaign_id is None or not drained:
            return RunEnd(drained=drained)
        await self._close_ended()
        try:
            async with self._shared.pool.acquire(timeout=2) as connection:
                row = await connection.fetchrow(queries("campaign_cache")["state"], self._campaign_id)
        except LOST_CONNECTION:
            row = None
        if row is None:
            return RunEnd(drained=False)
        return RunEnd(row["state"], row["reason"], drained)


async def _give_back(connection: Connection, leases: Sequence[Lease]) -> None:
    for lease in leases:
        await release(connection, lease)


async def _let_rest(connection: Connection, order: NumberRest) -> None:
    number, reason = order.phone_number_id, order.reason
    if order.wait_s is None:
        log.warning("number_stopped", number=number, until="a person resumes", reason=reason)
        await stop_number(connection, number, reason)
    else:
        log.warning("number_suspended", number=number, until=_moment_in(order.wait_s), reason=reason)
        await suspend(connection, number, order.wait_s, reason)


def _moment_in(wait_s: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=wait_s)).isoformat(timespec="seconds")


async def _cancel_all(tasks: Sequence[asyncio.Task[None]], within_s: float = inf) -> None:
    """Cancel until they end: a connection that breaks under a cancellation hides it from its task."""
    pending, begun_s = {task for task in tasks if not task.done()}, time.monotonic()
    while pending and time.monotonic() - begun_s < within_s:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_PERIOD_S)
