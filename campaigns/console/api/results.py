"""The results of a campaign in the interface. They are counted in the background, as for the page."""

from __future__ import annotations

from aiohttp import web

from campaigns.console.api.campaigns import named_campaign
from campaigns.console.api.replying import reply
from campaigns.console.result_readings import READINGS


async def show_results(request: web.Request) -> web.Response:
    campaign = await named_campaign(request)
    reading = await request.app[READINGS].look(campaign.campaign_id)
    found = None if reading.results is None else reading.results.as_json()
    return reply({"counted": reading.counted, "results": found})
