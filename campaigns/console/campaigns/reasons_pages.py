"""The reasons why recipients of a campaign did not get it, and the remedies: read in the background, for all
who look.
"""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.console.campaigns.api import named_campaign
from drumbeat.campaigns.console.campaigns.result_readings import REASONS
from drumbeat.campaigns.console.web.context import caller_of
from drumbeat.campaigns.console.web.rendering import campaign_url, page, render, texts_for
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.engine.core.error_codes import remedy_of


async def show_reasons(request: web.Request) -> web.Response:
    campaign = await named_campaign(request)
    return page(
        request,
        "reasons.html.j2",
        campaign=campaign,
        live=await _live_part(request, campaign),
        stream=f"/live{campaign_url(campaign.name, 'reasons')}",
    )


async def stream_reasons(request: web.Request) -> web.StreamResponse:
    campaign = await named_campaign(request)

    async def read() -> str:
        return await _live_part(request, campaign)

    return await stream_events(request, "view", read)


async def _live_part(request: web.Request, campaign: Campaign) -> str:
    reading = await request.app[REASONS].look(campaign.campaign_id)
    return render(
        "reasons_live.html.j2",
        texts_for(request),
        campaign=campaign,
        reasons=reading.results,
        may_retry=caller_of(request).may(Role.SEND) and campaign.test_of is None,
        remedy_of=remedy_of,
    )
