"""The sender of one number: one owner and one epoch have one of these.

feeder ──page──▶ guard ──▶ watermark (committed) ──▶ dispatcher's lanes ──▶ outcome ──▶ results writer
"""

import asyncio
from functools import partial

from drumbeat.engine.api.transport import Transport
from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.core.limits.guard import PairGuard
from drumbeat.engine.core.outcome import Outcome, Transient, Unknown
from drumbeat.engine.sending.claim_loop import ClaimLoop
from drumbeat.engine.sending.dispatcher import Dispatcher
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.first_attempts import FirstAttempts
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.messages import ClaimedMessage
from drumbeat.engine.sending.number_pace import NumberPace
from drumbeat.engine.sending.number_quota import NumberQuota
from drumbeat.engine.sending.outcome_policy import fact_of
from drumbeat.engine.sending.retries import Retries
from drumbeat.engine.store.facts import FactKind
from drumbeat.engine.store.leases import Lease


class NumberSender:
    """A sender: it joins the parts of one number, and handles its outcomes. `run` claims until `stop`."""

    def __init__(self, context: FlowContext, lease: Lease, limit_per_s: float, transport: Transport) -> None:
        self.lease = lease
        self._context = context
        self.pace = NumberPace(context, lease, limit_per_s)
        self.governor = self.pace.governor
        self._outcome_policy = self.pace.outcome_policy
        self.dispatcher = Dispatcher(lease.phone_number_id, transport, self.pace.bucket, self._on_outcome)
        self.pacer = self.dispatcher.pacer
        self.quota = NumberQuota(context, lease.phone_number_id)
        leaves = partial(context.leaves_to_faster, self)
        self.feeder = Feeder(context.pool, lease, context.campaign_cache, leaves, self.quota.waits_for)
        pairs = PairGuard(every_s=1 / context.service.pair_rate_per_s, burst=context.service.pair_burst)
        first_attempts = FirstAttempts(context, lease, self.feeder, pairs, self.quota)
        self._retries = Retries(context, lease, self.feeder, pairs, self.quota)
        self._claims = ClaimLoop(context, self, self.pace, self.dispatcher, first_attempts, self._retries)

    @property
    def idle(self) -> bool:
        return self._claims.idle and not self.quota.waits

    @property
    def suspended_reason(self) -> str | None:
        return self.pace.suspended_reason

    @property
    def rate_per_s(self) -> float:
        return self.pace.bucket.rate_per_s

    def permitted_per_s(self) -> float:
        """Return the rate at this moment: 0 while the number rests or the service is away."""
        return 0.0 if self.pace.rests or self._context.breaker.tripped else self.rate_per_s

    def achieved_per_s(self, now_ns: int) -> float:
        return self.pace.achieved_per_s(now_ns)

    async def run(self) -> None:
        await self._claims.run()

    def stop(self) -> None:
        """Claim nothing more."""
        self._claims.stop()

    def regulate(self, now_ns: int) -> None:
        """Adjust the rate to the service's replies. Call it a few times a second. Raises what failed."""
        if self.dispatcher.failure is not None:
            raise self.dispatcher.failure
        self.dispatcher.learn()
        self.pace.regulate(now_ns)

    async def drain(self, timeout_s: float | None) -> None:
        """Stop claiming, let in-flight requests end, and store messages that were not written as deferred.

        `timeout_s` None: requests end by their own time limits, and none is aborted.
        """
        self.stop()
        self.dispatcher.release_queue()
        try:
            await asyncio.wait_for(self.dispatcher.idle(), timeout_s)
        except TimeoutError:
            self.dispatcher.abort()
            await self.dispatcher.idle()
        await self.feeder.close(self._context.timing.close_s)

    async def release_ranges(self) -> None:
        """Release every range. Call it after a drain, when the results writer has stored everything."""
        await self.feeder.release_ranges(list(self.feeder.held.values()))

    def _on_outcome(self, message: ClaimedMessage, outcome: Outcome, written_ns: int | None) -> None:
        downtime = type(outcome) is Transient and self._context.breaker.is_downtime(monotonic_ns())
        offset_ns = self._context.clock_skew.stamp_offset_ns
        fact = fact_of(message, outcome, self.lease, written_ns, offset_ns, downtime=downtime)
        self._context.results_writer.put(fact)
        # A quarter of the replies tells as much as all, at a quarter of the cost.
        if written_ns is not None and not written_ns & 3 and type(outcome) is not Unknown:
            duration_ns = monotonic_ns() - written_ns
            statistics = self._context.results_writer.attempt_statistics
            statistics.note_reply(message.campaign_id, self.lease.phone_number_id, duration_ns)
        if self.quota.counts:
            self.quota.settled(fact)
        if fact.kind is FactKind.DEFERRED:
            self._retries.expect()
        self._outcome_policy.react(message, outcome, written_ns)
