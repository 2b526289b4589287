"""The deletion of a campaign that has never sent, with its recipients."""

from dataclasses import dataclass

from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.life.control import read_campaign
from drumbeat.campaigns.options.stored import stored_values
from drumbeat.campaigns.planning.removal import lock_names, remove_leftovers, remove_planned
from drumbeat.campaigns.progress import STATEMENT_TIMEOUT_S
from drumbeat.engine.core.states import CampaignState, with_indefinite_article
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import close, connect

# A campaign that was never started is in one of these states.
_UNSTARTED = frozenset(CampaignState) - {CampaignState.RUNNING, CampaignState.FINISHED}


@dataclass(frozen=True, slots=True)
class DeletedCampaign:
    """A campaign that is gone, and how many recipients it had."""

    name: str
    recipients: int


def is_deletable(campaign: Campaign) -> bool:
    """Return whether the campaign was never started. A campaign that sent stays on record."""
    return campaign.state in _UNSTARTED and campaign.started_at is None


async def delete_campaign(url: str, name: str, *, actor: str) -> DeletedCampaign:
    """Delete a campaign that was never started, or what an interrupted create or delete left of one.

    Raise UsageError if it was started. Raise TryLater while another process creates it, and if it was started
    or planned anew meanwhile.
    """
    connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
    try:
        found = await find_campaign(connection, name)
        await lock_names(connection, found.name, found.external_id)
        campaign = await read_campaign(connection, found)
        _require_deletable(campaign)
        if campaign.planned_at is None:
            await remove_leftovers(connection, campaign.campaign_id)
        else:
            detail = {
                "name": campaign.name,
                "recipients": campaign.recipients,
                "options": await stored_values(connection, campaign.campaign_id),
            }
            await remove_planned(
                connection,
                campaign.campaign_id,
                campaign.name,
                _UNSTARTED,
                actor=actor,
                action="delete",
                detail=detail,
            )
        return DeletedCampaign(campaign.name, campaign.recipients)
    finally:
        await close(connection)


def _require_deletable(campaign: Campaign) -> None:
    if not is_deletable(campaign):
        raise UsageError(
            f"{with_indefinite_article(campaign.state)} campaign that was started cannot be deleted",
            remedy="`campaign cancel` ends it; `db prune` drops old recipients",
        )
