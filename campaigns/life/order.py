"""The change of a campaign's order: its priority and its share, also while it is sent."""

from dataclasses import dataclass

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.order import Priority
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

ENDED = (CampaignState.FINISHED, CampaignState.CANCELLED, CampaignState.EXPIRED)


@dataclass(frozen=True, slots=True)
class CampaignOrder:
    """The order of a campaign after the change. `share_percent` None means an even part."""

    name: str
    priority: str
    share_percent: int | None


async def set_order(
    connection: Connection,
    name: str,
    priority: Priority | None,
    share_percent: int | None,
    *,
    even_share: bool = False,
    actor: str = "",
) -> CampaignOrder:
    """Set what is given, and leave the rest. `even_share` removes the share.

    Processes follow within a second. Raise UsageError if the campaign has ended.
    """
    async with connection.transaction():
        campaign = await find_campaign(connection, name)
        if campaign.state in ENDED:
            raise UsageError(f'the campaign "{campaign.name}" has ended: it is {campaign.state}')
        row = await connection.fetchrow(
            statements("campaign_control")["set_order"],
            campaign.campaign_id,
            None if priority is None else priority.word,
            share_percent,
            even_share,
        )
        assert row is not None
        order = CampaignOrder(campaign.name, row["priority"], row["share_percent"])
        detail = {"priority": order.priority, "share": order.share_percent or "even"}
        await connection.execute(queries("campaigns")["audit"], actor, "order", campaign.campaign_id, detail)
    return order
