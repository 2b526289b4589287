"""The guards before a claim, applied: a candidate passes, or is stored as deferred or skipped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.core.limits.guard import Defer, PairGuard, Refuse, check_recipient
from drumbeat.engine.core.limits.recipient_reasons import WORDS, RecipientReason
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.messages import RunningCampaign
from drumbeat.engine.store.claims import Candidate, fact_of_unsent
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.frequency_cap import Caps
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.retry_claims import Postponed


@dataclass(slots=True)
class Guarded:
    """The verdicts of the guards. `decided` is stored with the claim; for `postponed` only the time moves."""

    passed: list[Candidate] = field(default_factory=list)
    decided: list[Fact] = field(default_factory=list)
    postponed: list[Postponed] = field(default_factory=list)


def guard_first_attempts(
    candidates: Sequence[Candidate], campaign: RunningCampaign, pairs: PairGuard, lease: Lease, now_ns: int
) -> Guarded:
    """Guard recipients that were never claimed; a deferral becomes a stored fact of attempt 0."""
    guarded = Guarded()
    for candidate in candidates:
        refusal = _refusal(candidate, campaign, now_ns)
        if refusal is not None:
            guarded.decided.append(fact_of_unsent(candidate, lease, FactKind.SKIPPED, refusal))
        elif isinstance(verdict := pairs.admit(candidate.phone, now_ns), Defer):
            guarded.decided.append(
                fact_of_unsent(candidate, lease, FactKind.DEFERRED, verdict.reason, verdict.wait_s)
            )
        else:
            guarded.passed.append(candidate)
    return guarded


def refuse_opted_out(guarded: Guarded, phones: set[int], campaign: RunningCampaign, lease: Lease) -> None:
    """Check again those who passed. The owners of `phones` opted out since the page was read."""
    now_ns = monotonic_ns()
    passed, guarded.passed = guarded.passed, []
    for candidate in passed:
        refusal = _refusal(candidate._replace(opted_out=candidate.phone in phones), campaign, now_ns)
        if refusal is None:
            guarded.passed.append(candidate)
        else:
            guarded.decided.append(fact_of_unsent(candidate, lease, FactKind.SKIPPED, refusal))


def refuse_over_cap(guarded: Guarded, over: set[tuple[int, int]], caps: Caps, lease: Lease) -> None:
    """Skip those who passed, but whose person got as many messages as the cap of the campaign allows.

    `over` names them by range and seq.
    """
    passed, guarded.passed = guarded.passed, []
    for candidate in passed:
        if (candidate.range_id, candidate.seq) in over:
            reason = caps[candidate.campaign_id].reason
            guarded.decided.append(fact_of_unsent(candidate, lease, FactKind.SKIPPED, reason))
        else:
            guarded.passed.append(candidate)


def hold_back_retried(
    guarded: Guarded, verdicts: Mapping[tuple[int, int], Defer | Refuse], lease: Lease
) -> None:
    """Take those who passed and may not be retried out again; see `engine.core.retry_guard`."""
    passed, guarded.passed = guarded.passed, []
    for candidate in passed:
        verdict = verdicts.get((candidate.range_id, candidate.seq))
        if verdict is None:
            guarded.passed.append(candidate)
        elif isinstance(verdict, Refuse):
            guarded.decided.append(fact_of_unsent(candidate, lease, FactKind.SKIPPED, verdict.reason))
        elif candidate.attempt_no:
            guarded.postponed.append(Postponed(candidate, verdict.wait_s, verdict.reason))
        else:
            guarded.decided.append(
                fact_of_unsent(candidate, lease, FactKind.DEFERRED, verdict.reason, verdict.wait_s)
            )


def guard_retries(
    candidates: Sequence[Candidate],
    campaign_cache: CampaignCache,
    pairs: PairGuard,
    lease: Lease,
    now_ns: int,
) -> Guarded:
    """Guard recipients that wait for another attempt. They are stored, so a deferral moves the time."""
    guarded = Guarded()
    for candidate in candidates:
        refusal = _refusal(candidate, campaign_cache[candidate.campaign_id], now_ns)
        if refusal is not None:
            guarded.decided.append(fact_of_unsent(candidate, lease, FactKind.SKIPPED, refusal))
        elif isinstance(verdict := pairs.admit(candidate.phone, now_ns), Defer):
            guarded.postponed.append(Postponed(candidate, verdict.wait_s, verdict.reason))
        else:
            guarded.passed.append(candidate)
    return guarded


def _refusal(candidate: Candidate, campaign: RunningCampaign, now_ns: int) -> str | None:
    if candidate.opted_out or campaign.expires_ns is not None:
        verdict = check_recipient(
            opted_out=candidate.opted_out, expires_ns=campaign.expires_ns, now_ns=now_ns
        )
        if isinstance(verdict, Refuse):
            return verdict.reason
    variables = candidate.variables
    if len(variables) != campaign.variable_count or None in variables:
        return WORDS[
            RecipientReason.UNFIT_VARIABLES
        ]  # planning checks this too; a bad row must not block its range
    return None
