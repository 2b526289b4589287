"""The claims of further attempts for one number: of recipients whose wait is over, in its ranges."""

from collections.abc import Iterable

from drumbeat.engine.clock import suspend_aware_ns
from drumbeat.engine.core.limits.guard import PairGuard
from drumbeat.engine.core.order import Priority
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.guarding import Guarded, guard_retries, hold_back_retried, refuse_over_cap
from drumbeat.engine.sending.messages import GrantedClaims
from drumbeat.engine.sending.number_quota import NumberQuota
from drumbeat.engine.store.claims import Candidate
from drumbeat.engine.store.database import LOST_CONNECTION, Connection
from drumbeat.engine.store.frequency_cap import Caps, counting, over_cap
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.ranges import HeldRange
from drumbeat.engine.store.retried import retry_verdicts
from drumbeat.engine.store.retry_claims import claim_retries, due_retries, postpone_retries, unsent_claims


class Retries:
    """The retries of one number. `unanswered`: a claim's answer was lost; `give_up_unanswered` settles it."""

    def __init__(
        self, context: FlowContext, lease: Lease, feeder: Feeder, pairs: PairGuard, quota: NumberQuota
    ) -> None:
        self._context = context
        self._lease = lease
        self._feeder = feeder
        self._pairs = pairs
        self._quota = quota
        self._looked_ns = 0
        self._period_ns_min = context.timing.retry_period_ns
        self._period_ns_max = context.timing.retry_period_ns_max
        self._period_ns = self._period_ns_min
        self.unanswered = False

    def expect(self) -> None:
        """Ask for due retries at the shortest period again, because a recipient was deferred."""
        self._period_ns = self._period_ns_min

    async def claim(self, now_ns: int, limit: int) -> GrantedClaims:
        """Claim due recipients, the longest waiting first, `limit` at most; none until the period is over."""
        claimed_ns = suspend_aware_ns()
        if now_ns - self._looked_ns < self._period_ns or not self._feeder.held:
            return GrantedClaims([], [], claimed_ns)
        self._looked_ns = now_ns
        try:
            guarded, attempt_nos = await self._claim_due(now_ns, limit)
        except LOST_CONNECTION:
            self.unanswered = True
            raise
        found = guarded.passed or guarded.decided or guarded.postponed
        self._period_ns = self._period_ns_min if found else min(2 * self._period_ns, self._period_ns_max)
        granted = [passed for passed in guarded.passed if (passed.range_id, passed.seq) in attempt_nos]
        return GrantedClaims(
            granted, [attempt_nos[candidate.range_id, candidate.seq] for candidate in granted], claimed_ns
        )

    async def _claim_due(self, now_ns: int, limit: int) -> tuple[Guarded, dict[tuple[int, int], int]]:
        """Return the guards' verdicts on due recipients, and the granted attempt numbers by range and seq."""
        async with self._context.pool.acquire(timeout=5) as connection:
            cache, due = self._context.campaign_cache, await self._due(connection, limit)
            guarded = guard_retries(due, cache, self._pairs, self._lease, now_ns)
            if any(cache[candidate.campaign_id].is_retry for candidate in guarded.passed):
                hold_back_retried(guarded, await retry_verdicts(connection, guarded.passed), self._lease)
            if guarded.passed and self._quota.is_limited:
                guarded.passed = await self._quota.admit_retries(connection, guarded.passed)
            if guarded.postponed:
                await postpone_retries(connection, guarded.postponed)
            if not (guarded.passed or guarded.decided):
                return guarded, {}
            caps = self._caps(self._feeder.held.values())
            async with counting(connection, capped=bool(caps)):
                refuse_over_cap(guarded, await over_cap(connection, guarded.passed, caps), caps, self._lease)
                return guarded, await claim_retries(connection, self._lease, guarded.passed, guarded.decided)

    def _caps(self, ranges: Iterable[HeldRange]) -> Caps:
        campaigns = {held.campaign_id: self._context.campaign_cache[held.campaign_id] for held in ranges}
        return {
            campaign_id: campaign.cap
            for campaign_id, campaign in campaigns.items()
            if campaign.cap is not None
        }

    async def _due(self, connection: Connection, limit: int) -> list[Candidate]:
        """Return the due recipients of the highest priority that has any."""
        for ranges in self._ranges_by_priority():
            if due := await due_retries(connection, ranges, limit):
                return due
        return []

    def _ranges_by_priority(self) -> list[list[HeldRange]]:
        """Return ranges that may send, the highest priority first; none below the first attempts in hand."""
        cache = self._context.campaign_cache
        sendable = [held for held in self._feeder.held.values() if self._feeder.in_hand.may_send(held)]
        if not cache.has_priorities:
            return [sendable]
        by_priority: dict[Priority, list[HeldRange]] = {}
        for held in sendable:
            by_priority.setdefault(cache[held.campaign_id].priority, []).append(held)
        lowest = self._feeder.in_hand.priority or Priority.LOW
        return [by_priority[rank] for rank in sorted(by_priority, reverse=True) if rank >= lowest]

    async def give_up_unanswered(self) -> None:
        """Defer again what the unanswered claim granted: it was never sent. Nothing may be in flight."""
        await self._context.results_writer.flushed()
        async with self._context.pool.acquire(timeout=5) as connection:
            unsent = await unsent_claims(connection, self._lease, list(self._feeder.held.values()))
        for fact in unsent:
            self._context.results_writer.put(fact)
        await self._context.results_writer.flushed()
        self.unanswered = False
