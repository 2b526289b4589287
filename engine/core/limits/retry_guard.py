"""The guard of retry campaigns: it decides whether one may send to a recipient whom an earlier campaign did
not reach.

Law: evidence that arrives late counts. The earlier recipient is looked at just before each claim, and only a
recipient who is still failed is sent to.
"""

from dataclasses import dataclass

from drumbeat.engine.core.limits.guard import PASS, Defer, Refuse, Verdict
from drumbeat.engine.core.states import RecipientState

# open point "Errors": a retry of 131049 waits 24 h. Within that time the service refuses the message again.
HELD_BACK = 131049
HELD_BACK_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class EarlierRecipient:
    """The recipient's state in an earlier campaign. `failed_for_s` is the time since the last failure."""

    campaign: str
    state: str
    code: int | None
    failed_for_s: float | None


def check_retry(earlier: EarlierRecipient) -> Verdict:
    """Pass only a recipient who is still failed. After 131049, defer until a day is over."""
    if earlier.state != RecipientState.FAILED:
        return Refuse(f'no retry: {earlier.state} in "{earlier.campaign}"')
    if earlier.code == HELD_BACK and earlier.failed_for_s is not None and earlier.failed_for_s < HELD_BACK_S:
        return Defer(HELD_BACK_S - earlier.failed_for_s, f"{HELD_BACK}: a retry waits for 24 h")
    return PASS
