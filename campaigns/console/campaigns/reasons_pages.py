"""The reasons why recipients of a campaign did not get it, and the remedies: read in the background, for all
who look.
"""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.console.campaigns.named import campaign_url, named_campaign
from drumbeat.campaigns.console.campaigns.result_readings import reason_readings
from drumbeat.campaigns.console.web.code_texts import code_meaning, code_remedy
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.rendering import page, render, texts_for
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.streams import stream_events


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
    reading = await console_of(request).part(reason_readings).look(campaign.campaign_id)
    return render(
        "reasons_live.html.j2",
        texts_for(request),
        campaign=campaign,
        reasons=reading.results,
        may_retry=caller_of(request).may(Role.SEND) and campaign.test_of is None,
        code_meaning=code_meaning,
        code_remedy=code_remedy,
    )
