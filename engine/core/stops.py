"""The stop that a refusal asks for: of a campaign, of every campaign, or of a number.

Law: the scope of a code decides. It is the same whether the code comes in a reply, or in the status of a
message that the service had accepted.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from drumbeat.engine.core.error_codes import pause_reason, remedy_of, shared_by
from drumbeat.engine.core.outcome import Rejected, Scope
from drumbeat.engine.core.refusal_runs import IN_A_ROW_MAX, RefusalRuns
from drumbeat.engine.core.states import ReasonCode


@dataclass(frozen=True, slots=True)
class CampaignPause:
    """A pause of a campaign, because the service refuses the campaign as a whole."""

    campaign_id: int
    reason: str = field(compare=False)
    code: ReasonCode = field(compare=False)


@dataclass(frozen=True, slots=True)
class AccountStop:
    """A stop of every campaign, because the service refuses the token or the account."""

    reason: str = field(compare=False)
    code: ReasonCode = field(compare=False)


@dataclass(frozen=True, slots=True)
class NumberRest:
    """A rest of a number that the service or the governor suspends. `wait_s` None: until a person resumes it.

    `for_quota`: a new messaging limit ends the rest.
    """

    phone_number_id: str
    reason: str = field(compare=False)
    wait_s: float | None = field(compare=False)
    for_quota: bool = field(default=False, compare=False)

    def is_longer_than(self, other: "StopRequest") -> bool:
        if not isinstance(other, NumberRest) or other.wait_s is None:
            return False
        return self.wait_s is None or self.wait_s > other.wait_s


StopRequest: TypeAlias = CampaignPause | AccountStop | NumberRest


def stop_after(
    refusal: Rejected, campaign_id: int, phone_number_id: str, runs: RefusalRuns
) -> StopRequest | None:
    """Return the stop that a refusal asks for, if any. Systematic refusals are counted in `runs`."""
    reason = f"{refusal.detail} ({refusal.name})" if refusal.detail else refusal.name
    if refusal.scope is not Scope.RECIPIENT:
        wait_s = (refusal.suspend and refusal.wait_s) or None
        return _stop_of(refusal, refusal.scope, campaign_id, phone_number_id, reason, wait_s)
    if not refusal.systematic:
        return None
    at_fault = runs.refused(campaign_id, phone_number_id, shared_by(refusal.name))
    if at_fault is None:
        return None
    cure = f"; {remedy}" if (remedy := remedy_of(refusal.name)) else ""
    words = f"{IN_A_ROW_MAX} recipients in a row were refused: {reason}{cure}"
    return _stop_of(refusal, at_fault, campaign_id, phone_number_id, words, None)


def _stop_of(
    refusal: Rejected, scope: Scope, campaign_id: int, phone_number_id: str, reason: str, wait_s: float | None
) -> StopRequest:
    if scope is Scope.ACCOUNT:
        return AccountStop(reason, pause_reason(refusal.name))
    if scope is Scope.NUMBER:
        return NumberRest(phone_number_id, reason, wait_s)
    return CampaignPause(campaign_id, reason, pause_reason(refusal.name))
