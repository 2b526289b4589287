"""Deletes a draft: a campaign that has never sent, with its recipients."""

from dataclasses import dataclass

from campaigns.life.control import Campaign, find_campaign
from campaigns.planning.plan import STATEMENT_TIMEOUT_S
from campaigns.planning.removal import lock_names, remove_draft, remove_leftovers
from campaigns.planning.stored import stored_values
from engine.core.states import CampaignState, with_indefinite_article
from engine.errors import UsageError
from engine.store.database import close, connect


@dataclass(frozen=True, slots=True)
class DeletedCampaign:
    """A draft that is gone, and how many recipients it had."""

    name: str
    recipients: int


async def delete_campaign(url: str, name: str, *, actor: str) -> DeletedCampaign:
    """Delete a draft for good, or what an interrupted create or delete left of a campaign.

    UsageError if it is no draft: what was sent stays on record. TryLater while another process creates it.
    """
    connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
    try:
        found = await find_campaign(connection, name)
        await lock_names(connection, found.name, found.external_id)
        campaign = await find_campaign(connection, found.name)
        _require_draft(campaign)
        if campaign.planned_at is None:
            await remove_leftovers(connection, campaign.campaign_id)
        else:
            detail = {
                "name": campaign.name,
                "recipients": campaign.recipients,
                "options": await stored_values(connection, campaign.campaign_id),
            }
            await remove_draft(
                connection, campaign.campaign_id, campaign.name, actor=actor, action="delete", detail=detail
            )
        return DeletedCampaign(campaign.name, campaign.recipients)
    finally:
        await close(connection)


def _require_draft(campaign: Campaign) -> None:
    if campaign.state is not CampaignState.DRAFT:
        raise UsageError(
            f"{with_indefinite_article(campaign.state)} campaign cannot be deleted, only a draft",
            remedy="`campaign cancel` ends it; `db prune` drops old recipients",
        )
