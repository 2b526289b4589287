"""The campaign that an address names, by its own name or by its external id."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.console.campaigns.watch import status_of
from drumbeat.campaigns.console.web.context import Console, console_of, name_of, set_own_name
from drumbeat.campaigns.console.web.rendering import path_of
from drumbeat.campaigns.results.status import CampaignStatus


async def own_name(console: Console, name: str) -> str:
    return (await find_campaign(console.pool, name)).name


async def named_campaign(request: web.Request) -> Campaign:
    """Return the campaign of the address. NotFound if there is none. Its name is looked up once for a
    request.
    """
    campaign = await find_campaign(console_of(request).pool, name_of(request))
    set_own_name(request, campaign.name)
    return campaign


async def named_status(request: web.Request) -> tuple[Campaign, CampaignStatus]:
    """Return the campaign of the address, and its status."""
    campaign = await named_campaign(request)
    return campaign, await status_of(console_of(request), campaign.campaign_id)


def campaign_url(name: str, *parts: str) -> str:
    return path_of("campaigns", name, *parts)
