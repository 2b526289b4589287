"""The outlook of recipients in doubt when a run has ended: the campaign's policy, and when it acts."""

from drumbeat.campaigns.campaign import Campaign
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.store.in_doubt import InDoubtSummary, resend_by_policy

RESEND_SILENT = "resend-silent"


async def apply_policy(pool: Pool, campaign_id: int, silence_s: float) -> bool:
    """Queue those in doubt whom the campaign's policy sends to again by now. Return whether there are any.

    Without the database nothing is queued.
    """
    try:
        async with pool.acquire() as connection:
            return await resend_by_policy(connection, silence_s=silence_s, campaign_id=campaign_id) > 0
    except LOST_CONNECTION:
        return False


def outlook(campaign: Campaign, doubts: InDoubtSummary) -> str:
    """Return in words what happens to those in doubt next, and when; empty if there are none."""
    if not doubts.recipients:
        return ""
    if (at := doubts.all_silent_at) is None:
        return "no events of their numbers arrive now, so nothing tells whether they were sent"
    when = at.isoformat(timespec="seconds")
    if campaign.on_unknown == RESEND_SILENT:
        return f"without a status, another run or a worker sends to them again from {when} on"
    return f"without a status, they are probably not sent from {when} on"
