"""The further actions on a campaign, beside starting, pausing, resuming and cancelling it."""

from __future__ import annotations

from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.changing.delete import is_deletable
from drumbeat.campaigns.results.status import FINAL_STATES, CampaignStatus
from drumbeat.engine.core.states import RecipientState

# In the order in which a page offers them; the address of each is /campaigns/NAME/ACTION.
APPROVE, RETRY, SETTLE, EDIT, CLONE, DELETE = ACTIONS = (
    "approve",
    "retry",
    "settle",
    "edit",
    "clone",
    "delete",
)


def further(campaign: Campaign, status: CampaignStatus) -> list[str]:
    """Return the actions that make sense now. A test has none, and a campaign has none before its plan is
    complete.
    """
    if campaign.planned_at is None or campaign.test_of is not None:
        return []
    is_over, has_recipients = campaign.state in FINAL_STATES, not status.pruned_recipients
    offered = {
        APPROVE: status.canary is not None and status.canary.lacks_approval and not is_over,
        RETRY: status.counts[RecipientState.FAILED] > 0 and has_recipients,
        SETTLE: status.in_doubt > 0,
        EDIT: not is_over,
        CLONE: has_recipients,
        DELETE: is_deletable(campaign),
    }
    return [action for action in ACTIONS if offered[action]]
