"""What an end is worth: said in words, so that exit code 3 is never without a reason."""

import pytest

from campaigns.progress import CampaignStatus
from campaigns.run import shortfall
from engine.core.states import CampaignState, RecipientState


def ended(state: CampaignState = CampaignState.FINISHED, reason: str = "", **counts: int) -> CampaignStatus:
    """A campaign of 1,500 named `x y`."""
    found = {one: counts.get(one.value, 0) for one in RecipientState}
    found[RecipientState.DELIVERED] = 1500 - sum(counts.values())
    return CampaignStatus("x y", state, reason, 1500, found, None, None, None, ())


@pytest.mark.parametrize(
    ("status", "max_failed", "words"),
    [
        (ended(), "0", ""),
        (ended(failed=290), None, ""),
        (ended(failed=75), "5%", ""),
        (ended(failed=290), "5%", "290 of 1,500 failed (19.3 %), more than --max-failed 5%"),
        (ended(failed=2), "1", "2 of 1,500 failed (0.1 %), more than --max-failed 1"),
        (ended(unknown=1200), None, "1,200 in doubt: see `drumbeat campaign settle 'x y'`"),
        (
            ended(CampaignState.CANCELLED, "cancelled by hand", skipped=1490),
            None,
            "cancelled (cancelled by hand): 1,490 of 1,500 skipped",
        ),
        (ended(CampaignState.EXPIRED, skipped=3), None, "expired: 3 of 1,500 skipped"),
    ],
)
def test_what_an_end_lacks(status: CampaignStatus, max_failed: str | None, words: str) -> None:
    assert shortfall(status, max_failed) == words
