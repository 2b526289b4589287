"""The pace of one number at this moment, and its rests: its limit, its rate, its suspension."""

from math import ceil

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.pace.achieved_rate import AchievedRate
from drumbeat.engine.core.pace.claim_ahead import ClaimAhead
from drumbeat.engine.core.pace.rate_governor import RateGovernor
from drumbeat.engine.core.pace.token_bucket import TokenBucket
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.outcome_policy import OutcomePolicy
from drumbeat.engine.store.leases import Lease, Renewal

log = get_logger(__name__)


class NumberPace:
    """The pace of one number. The database sets its limit and its rests; the governor lowers its rate."""

    def __init__(self, context: FlowContext, lease: Lease, limit_per_s: float) -> None:
        now_ns = monotonic_ns()
        self._context = context
        self._phone_number_id = lease.phone_number_id
        self._claim_ahead = ClaimAhead(limit_per_s, now_ns)
        self._achieved = AchievedRate(now_ns)
        self.governor = RateGovernor(limit_per_s, now_ns)
        self.bucket = TokenBucket(limit_per_s, now_ns)
        self.bucket.hold_until(now_ns + ceil(lease.wait_s * SECOND_NS))
        self.outcome_policy = OutcomePolicy(context, lease.phone_number_id, self.governor)
        self.suspended_reason: str | None = None
        self._note_limit(limit_per_s)

    @property
    def rests(self) -> bool:
        """Return whether the number is suspended, in the database or by a request on its way there."""
        return self.suspended_reason is not None or self.outcome_policy.rest_requested

    def claim_ahead(self) -> int:
        """Return how many messages may be claimed and not written: one while the circuit breaker probes."""
        return 1 if self._context.breaker.tripped else self._claim_ahead.messages(self.bucket.rate_per_s)

    def achieved_per_s(self, now_ns: int) -> float:
        """Return how many messages per second were written lately."""
        return self._achieved.per_s(self.bucket.writes, now_ns)

    def follow(self, renewal: Renewal) -> None:
        """Apply what the database says of this number: its limit, and whether it rests."""
        now_ns = monotonic_ns()
        if renewal.limit_per_s != self.bucket.limit_per_s:
            log.info("limit_changed", number=self._phone_number_id, limit_per_s=renewal.limit_per_s)
            self._note_limit(renewal.limit_per_s)
            self.bucket.set_limit(renewal.limit_per_s, now_ns)
            self.governor.set_limit(renewal.limit_per_s, now_ns)
        if self.suspended_reason and not renewal.rests:
            log.info("number_resumed", number=self._phone_number_id)
            self._context.campaign_cache.refusal_runs.forget_number(self._phone_number_id)
            if not self.outcome_policy.quota_refused:
                self.governor.resume(now_ns)
            self.outcome_policy.quota_refused = False
        self.suspended_reason = (renewal.suspended_reason or "suspended") if renewal.rests else None
        if not self._context.stop_requests.has_rest_for(self._phone_number_id):
            self.outcome_policy.rest_requested = False  # from now on the database decides

    def regulate(self, now_ns: int) -> None:
        """Set the rate that the governor decides on. Call it a few times a second."""
        self._claim_ahead.measure(self.bucket.writes, now_ns)
        self._achieved.measure(self.bucket.writes, now_ns)
        rest = self.governor.decide(now_ns)
        # While the number rests, no other rest is requested: a shorter one must not replace this one.
        if rest is not None and not (self.suspended_reason or self.outcome_policy.rest_requested):
            wait_s = (rest.until_ns - now_ns) / SECOND_NS
            self.outcome_policy.suspend(wait_s, rest.reason, for_quota=rest.for_quota)
        self.bucket.set_rate(self.governor.rate_per_s(now_ns), now_ns)
        self.bucket.hold_until(self.governor.hold_until_ns)

    def _note_limit(self, limit_per_s: float) -> None:
        statistics = self._context.results_writer.attempt_statistics
        statistics.limits_per_s[self._phone_number_id] = limit_per_s
