"""The ranges of one number: it takes over what a former owner left, and releases what it need not hold."""

import asyncio
from collections.abc import Iterable
from math import ceil

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.tail import IdleNumber, ends_sooner_elsewhere, is_wanted_elsewhere
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.dispatcher import Dispatcher
from drumbeat.engine.sending.flow_context import FlowContext, PeerNumber
from drumbeat.engine.store.ranges import HeldRange, release_idle_ranges, take_over_ranges

KEEP_FOR_DEFERRED_S = 10.0  # a range whose deferred recipients are all due later needs no owner meanwhile
LEAVE_TAIL_S = 1.0  # how long the slower number leaves its tail to the faster one
# The least time between two tails left to numbers of other processes. The data about them is a few seconds
# old. If such a number does not take the tail, this number loses a second, and the period makes that rare.
LEAVE_ELSEWHERE_PERIOD_NS = 5 * SECOND_NS

log = get_logger(__name__)


class NumberRanges:
    """The ranges of a number. They change what `number.feeder` holds. `dispatcher` is the number's."""

    def __init__(self, context: FlowContext, number: PeerNumber, dispatcher: Dispatcher) -> None:
        self._context = context
        self._number = number
        self._dispatcher = dispatcher
        self._looked_ns = 0
        self._left_elsewhere_ns = -LEAVE_ELSEWHERE_PERIOD_NS

    async def take_over(self) -> None:
        """Fence the former owner off its ranges, and put its claims without an outcome in doubt."""
        lease = self._number.lease
        async with self._context.pool.acquire(timeout=5) as connection:
            await take_over_ranges(connection, lease)
        # The former owner may have claimed until now: the wait for the end of its claims starts here.
        self._dispatcher.pacer.bucket.hold_until(monotonic_ns() + ceil(lease.wait_s * SECOND_NS))
        await self._number.feeder.recover()

    async def release_unneeded(self, now_ns: int) -> None:
        """Release the ranges that the number need not hold.

        These are ended ranges; all ranges of a number that rests; those of campaigns that wait for its
        messaging limit; the tail, for a faster idle number; and those that wait for a higher priority while
        another number is idle. The other number may be one of another process: `idle_elsewhere`.
        """
        if now_ns - self._looked_ns < self._context.timing.release_period_ns:
            return
        self._looked_ns = now_ns
        await self._release_ended()
        await self._number.feeder.put_off_closed()
        held = list(self._number.feeder.held.values())
        waiting = [each for each in held if self._number.quota.waits_for(each.campaign_id)]
        if self._number.suspended_reason and held:
            self._dispatcher.release_queue()
            await self._release_to_others(held)
        elif waiting:
            await self._release_to_others(waiting)
        elif self._is_tail(now_ns):
            self._dispatcher.release_queue()
            await self._release_to_others([tail for tail in held if tail.claimed_through < tail.last_seq])
            await asyncio.sleep(LEAVE_TAIL_S)
        elif outranked := self._wanted_elsewhere():
            # These are released without a drain, which would delay the higher priority. A range with a claim
            # under way stays.
            await self._number.feeder.release_ranges(outranked)

    def _wanted_elsewhere(self) -> list[HeldRange]:
        """Return the ranges that wait here for a higher priority, while an idle number could send them."""
        outranked = self._number.feeder.in_hand.outranked()
        if not outranked:
            return []
        mine, idle = self._number.lease.phone_number_id, list(self._context.all_idle())
        sendable = self._context.campaign_cache.sending_with
        return [held for held in outranked if is_wanted_elsewhere(mine, held.campaign_id, idle, sendable)]

    def _is_tail(self, now_ns: int) -> bool:
        """Return whether a faster idle number should get what is not claimed."""
        if self._ends_sooner_at(self._context.idle_numbers()):
            return True
        if now_ns < self._left_elsewhere_ns + LEAVE_ELSEWHERE_PERIOD_NS:
            return False
        if self._ends_sooner_at(self._context.idle_elsewhere):
            self._left_elsewhere_ns = now_ns
            return True
        return False

    def _ends_sooner_at(self, idle: Iterable[IdleNumber]) -> bool:
        """Return whether an `idle` number would send sooner what this one holds and has not claimed."""
        feeder = self._number.feeder
        if not (unclaimed := feeder.in_hand.unclaimed):
            return False
        campaigns = {
            held.campaign_id for held in feeder.held.values() if held.claimed_through < held.last_seq
        }
        sendable = self._context.campaign_cache.sending_with
        return ends_sooner_elsewhere(unclaimed, self._number.rate_per_s, campaigns, idle, sendable)

    async def _release_ended(self) -> None:
        """Finish ranges with nothing left to send; release those whose deferred recipients are due later."""
        running = self._context.campaign_cache.running
        ended = [
            held
            for held in self._number.feeder.held.values()
            if held.claimed_through >= held.last_seq
            or held.state != "open"
            or held.campaign_id not in running
        ]
        if ended:
            async with self._context.pool.acquire(timeout=5) as connection:
                released = await release_idle_ranges(
                    connection, self._number.lease, ended, KEEP_FOR_DEFERRED_S
                )
            self._number.feeder.remove(released)

    async def _release_to_others(self, ranges: list[HeldRange]) -> None:
        """Release ranges once all claimed messages ended: the next owner puts in doubt what is under way."""
        await self._dispatcher.idle()
        await self._context.results_writer.flushed()
        log.info("ranges_released", number=self._number.lease.phone_number_id, ranges=len(ranges))
        await self._number.feeder.release_ranges(ranges)
