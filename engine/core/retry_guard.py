"""Whether a retry campaign may send to a recipient whom an earlier campaign did not reach.

Law: evidence that arrives late counts. The earlier recipient is looked at just before each claim, and only
one that is still failed is sent to.
"""

from dataclasses import dataclass

from drumbeat.engine.core.guard import PASS, Defer, Refuse, Verdict
from drumbeat.engine.core.states import RecipientState

# open point "Errors": a retry of 131049 waits 24 h. The service refuses it again within that time.
HELD_BACK = 131049
HELD_BACK_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class EarlierRecipient:
    """What became of the person in an earlier campaign. `failed_for_s`: how long ago the last failure was."""

    campaign: str
    state: str
    code: int | None
    failed_for_s: float | None


def check_retry(earlier: EarlierRecipient) -> Verdict:
    """Pass only someone who is still failed, and after 131049 only when a day is over."""
    if earlier.state != RecipientState.FAILED:
        return Refuse(f'no retry: {earlier.state} in "{earlier.campaign}"')
    if earlier.code == HELD_BACK and earlier.failed_for_s is not None and earlier.failed_for_s < HELD_BACK_S:
        return Defer(HELD_BACK_S - earlier.failed_for_s, f"{HELD_BACK}: a retry waits for 24 h")
    return PASS
