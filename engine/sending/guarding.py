"""Applies the guards before a claim: a candidate passes, or is stored as deferred or skipped."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.clock import monotonic_ns
from engine.core.guard import Defer, PairGuard, Refuse, check_recipient
from engine.sending.campaign_cache import CampaignCache
from engine.sending.messages import RunningCampaign
from engine.store.claims import Candidate, fact_of_unsent
from engine.store.facts import Fact, FactKind
from engine.store.leases import Lease
from engine.store.retry_claims import Postponed


@dataclass(slots=True)
class Guarded:
    """What the guards said. `decided` is stored with the claim; for `postponed` only the time moves."""

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
    """Check again those who passed, now with `phones`, which opted out since the page was read."""
    now_ns = monotonic_ns()
    passed, guarded.passed = guarded.passed, []
    for candidate in passed:
        refusal = _refusal(candidate._replace(opted_out=candidate.phone in phones), campaign, now_ns)
        if refusal is None:
            guarded.passed.append(candidate)
        else:
            guarded.decided.append(fact_of_unsent(candidate, lease, FactKind.SKIPPED, refusal))


def guard_retries(
    candidates: Sequence[Candidate],
    campaign_cache: CampaignCache,
    pairs: PairGuard,
    lease: Lease,
    now_ns: int,
) -> Guarded:
    """Guard recipients that wait for another attempt: already stored, so a deferral only moves the time."""
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
        return "variables do not fit the template"  # planning checks this; a bad row must not block its range
    return None
