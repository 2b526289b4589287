"""What an outcome means beyond its recipient: for the pace, the number, the campaign, the account."""

import time

import structlog

from engine.backoff import deferral_s
from engine.clock import monotonic_ns
from engine.core.governor import Governor
from engine.core.outcome import Accepted, NotSent, Outcome, Rejected, Scope, Throttled
from engine.core.retry import Fail, InDoubt, Retry, decide
from engine.core.states import ReasonCode, reason_of_refusal
from engine.sending.campaign_cache import SYSTEMATIC_REJECTIONS_MAX
from engine.sending.flow_context import AccountStop, CampaignPause, NumberRest, Shared
from engine.sending.messages import Claimed
from engine.store.facts import Fact, FactKind
from engine.store.leases import Lease

log = structlog.get_logger(__name__)


def fact_of(
    message: Claimed, outcome: Outcome, lease: Lease, written_ns: int | None, *, downtime: bool = False
) -> Fact:
    """The fact to store for one attempt. `written_ns` None: no byte was written; `downtime`: see `decide`."""
    attempted_us = None  # since 1970
    if written_ns is not None:
        attempted_us = (time.time_ns() - monotonic_ns() + written_ns) // 1_000
    campaign_id, range_id, seq, attempt_no, _, _, spent = message
    if isinstance(outcome, Accepted):  # nearly every message; not Fact(…): a call less
        tried = (campaign_id, range_id, seq, attempt_no, lease.epoch, lease.phone_number_id)
        told = (FactKind.ACCEPTED, outcome.wamid, None, None, attempted_us, 0.0, spent, False, False)
        return tuple.__new__(Fact, tried + told)
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
        campaign_id,
        range_id,
        seq,
        attempt_no,
        lease.epoch,
        lease.phone_number_id,
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
    """The reactions of one number's flow. `blocked`: the service stopped the number; the database follows."""

    def __init__(self, shared: Shared, phone_number_id: str, governor: Governor) -> None:
        self._shared = shared
        self._phone_number_id = phone_number_id
        self._governor = governor
        self.blocked = False

    def react(self, message: Claimed, outcome: Outcome, written_ns: int | None) -> None:
        breaker, away = self._shared.breaker, self._shared.service_away
        rejections = self._shared.campaign_cache.systematic_rejections
        if type(outcome) is Accepted and not breaker.failures and not rejections:
            return  # nearly every outcome: nothing was the matter, and nothing is
        now_ns = monotonic_ns()
        if breaker.record(outcome, now_ns):
            away.met(reason=breaker.reason, effect="waits, then tries one")
        elif away.is_told and not breaker.suspicious:
            away.is_over()
        if type(outcome) is Accepted:
            rejections.pop(message.campaign_id, None)
        elif isinstance(outcome, Throttled):
            self._throttled(outcome, now_ns, written_ns or now_ns)
        elif isinstance(outcome, Rejected):
            self._rejected(message.campaign_id, outcome)
        elif isinstance(outcome, NotSent) and outcome.exhausted:
            self._shared.descriptors_short.met(reason=outcome.reason, effect="fewer connections")

    def suspend(self, wait_s: float | None, reason: str) -> None:
        """Rest the number, here and in the database for its next owner. None: until a person looks."""
        self.blocked = True
        self._shared.order(NumberRest(self._phone_number_id, reason, wait_s))

    def _throttled(self, outcome: Throttled, now_ns: int, written_ns: int) -> None:
        if outcome.scope is Scope.NUMBER:
            self._governor.throttled(now_ns, written_ns, outcome.wait_s)
        elif outcome.scope is Scope.ACCOUNT:
            self._shared.slow_account(now_ns, written_ns, outcome.wait_s)

    def _rejected(self, campaign_id: int, outcome: Rejected) -> None:
        reason = f"{outcome.detail} ({outcome.name})" if outcome.detail else outcome.name
        if outcome.scope is Scope.ACCOUNT:
            self._shared.order(AccountStop(reason, reason_of_refusal(outcome)))
        elif outcome.scope is Scope.TEMPLATE:
            self._pause(campaign_id, reason, reason_of_refusal(outcome))
        elif outcome.scope is Scope.NUMBER:
            self.suspend((outcome.suspend and outcome.wait_s) or None, reason)
        elif outcome.systematic:
            self._count_systematic(campaign_id, reason)

    def _count_systematic(self, campaign_id: int, reason: str) -> None:
        rejections = self._shared.campaign_cache.systematic_rejections
        rejections[campaign_id] = rejections.get(campaign_id, 0) + 1
        if rejections[campaign_id] >= SYSTEMATIC_REJECTIONS_MAX:
            self._pause(
                campaign_id,
                f"{SYSTEMATIC_REJECTIONS_MAX} recipients in a row were refused: {reason}",
                ReasonCode.RECIPIENTS_REFUSED,
            )

    def _pause(self, campaign_id: int, reason: str, code: ReasonCode) -> None:
        self._shared.campaign_cache.stop(campaign_id)
        self._shared.order(CampaignPause(campaign_id, reason, code))
