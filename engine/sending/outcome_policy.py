"""The consequences of an outcome: the fact to store, and the effects on pace, number, campaign, account."""

from datetime import UTC, datetime

from drumbeat.engine.backoff import deferral_s
from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.limits.quota import in_words, is_quota, rest_s
from drumbeat.engine.core.outcome import Accepted, NotSent, Outcome, Rejected, Scope, Throttled
from drumbeat.engine.core.pace.rate_governor import RateGovernor
from drumbeat.engine.core.retry import Fail, InDoubt, Retry, decide
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.core.stops import AccountStop, CampaignPause, NumberRest, stop_after
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.messages import ClaimedMessage
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import Lease

log = get_logger(__name__)


def fact_of(
    message: ClaimedMessage,
    outcome: Outcome,
    lease: Lease,
    written_ns: int | None,
    stamp_offset_ns: int,
    *,
    downtime: bool = False,
) -> Fact:
    """Return the fact to store for one attempt. `written_ns` None: no byte was written.

    `downtime` is described at `decide`, `stamp_offset_ns` at `ClockSkew`.
    """
    attempted_us = None  # microseconds since 1970
    if written_ns is not None:
        attempted_us = (stamp_offset_ns + written_ns) // 1_000
    campaign_id, range_id, seq, attempt_no, _, _, spent = message
    attempt = (campaign_id, range_id, seq, attempt_no, lease.epoch, lease.phone_number_id)
    if isinstance(outcome, Accepted):  # nearly every message; not Fact(…): saves a call
        acceptance = (FactKind.ACCEPTED, outcome.wamid, None, None, attempted_us, 0.0, spent, False, False)
        return tuple.__new__(Fact, attempt + acceptance)
    decision = decide(outcome, spent, downtime=downtime)
    wait_s, suppress = 0.0, False
    match decision:
        case InDoubt():
            kind, reason = FactKind.UNKNOWN, decision.reason
        case Fail():
            kind, reason, suppress = FactKind.FAILED, decision.name, decision.suppress
        case Retry():
            kind, reason, spent = FactKind.DEFERRED, decision.reason, decision.spent
            wait_s = deferral_s(decision)
    return Fact(
        *attempt,
        kind,
        code=getattr(outcome, "code", None),
        reason=reason,
        attempted_us=attempted_us,
        wait_s=wait_s,
        spent=spent,
        suppress=suppress,
        throttled=isinstance(outcome, Throttled),
    )


class OutcomePolicy:
    """The reactions to the outcomes of one number. `rest_requested`: it rests before the database says so.

    `quota_refused`: it rests because its messaging limit is used up, and its pace was not at fault.
    """

    def __init__(self, context: FlowContext, phone_number_id: str, governor: RateGovernor) -> None:
        self._context = context
        self._phone_number_id = phone_number_id
        self._governor = governor
        self.rest_requested = False
        self.quota_refused = False

    def react(self, message: ClaimedMessage, outcome: Outcome, written_ns: int | None) -> None:
        breaker, away = self._context.breaker, self._context.service_away
        runs = self._context.campaign_cache.refusal_runs
        if type(outcome) is Accepted and not breaker.failures and not runs.lengths:
            return  # nearly every outcome: nothing was wrong before, and nothing is now
        now_ns = monotonic_ns()
        if breaker.record(outcome, now_ns):
            away.report(reason=breaker.reason, effect="sending waits, then one message probes the service")
        elif away.is_reported and not breaker.tripped:
            away.resolve()
        if type(outcome) is Accepted:
            runs.accepted(message.campaign_id, self._phone_number_id)
        elif isinstance(outcome, Throttled):
            self._throttled(outcome, now_ns, written_ns or now_ns)
        elif isinstance(outcome, Rejected):
            self._rejected(message.campaign_id, outcome, written_ns or now_ns)
        elif isinstance(outcome, NotSent) and outcome.exhausted:
            self._context.descriptors_short.report(reason=outcome.reason, effect="fewer connections")

    def suspend(self, wait_s: float | None, reason: str, *, for_quota: bool = False) -> None:
        """Let the number rest, at once in this process. The worker stores the rest, for the next owner too.

        `wait_s` None: until a person resumes it.
        """
        self.rest_requested = True
        self._context.stop_requests.add(NumberRest(self._phone_number_id, reason, wait_s, for_quota))

    def _throttled(self, outcome: Throttled, now_ns: int, written_ns: int) -> None:
        standing = self._context.quotas.standing(self._phone_number_id)
        if standing is not None and is_quota(outcome, standing):
            self.quota_refused = True
            database_now = (now_ns + self._context.clock_skew.stamp_offset_ns) / SECOND_NS
            rests_s = rest_s(standing, datetime.fromtimestamp(database_now, UTC))
            self.suspend(rests_s, in_words([standing]), for_quota=True)
        elif outcome.scope is Scope.NUMBER:
            self._governor.throttled(now_ns, written_ns, outcome.wait_s)
        elif outcome.scope is Scope.ACCOUNT:
            self._context.slow_account(now_ns, written_ns, outcome.wait_s)

    def _rejected(self, campaign_id: int, outcome: Rejected, written_ns: int) -> None:
        """Stop what the refusal names. Only a person ends a stop after refusals in a row."""
        runs = self._context.campaign_cache.refusal_runs
        match stop_after(outcome, campaign_id, self._phone_number_id, runs):
            case AccountStop(reason, code):
                self._account_rejected(reason, code, written_ns)
            case NumberRest(_, reason, wait_s):
                self.suspend(wait_s, reason)
            case CampaignPause() as pause:
                self._context.campaign_cache.stop(campaign_id)
                self._context.stop_requests.add(pause)

    def _account_rejected(self, reason: str, code: ReasonCode, written_ns: int) -> None:
        if code is ReasonCode.AUTHENTICATION_FAILED:
            access_token = self._context.access_token
            if access_token.is_replaced_since(written_ns):
                return  # the next attempt carries the new token
            reason = f"{reason}; {access_token.cure}"
        self._context.stop_requests.add(AccountStop(reason, code))
