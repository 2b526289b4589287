"""The replies of the interface about campaigns."""

from __future__ import annotations

from typing import Any, cast

from aiohttp import web

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.console.account.pricing import stored_plan
from drumbeat.campaigns.console.campaigns.named import named_campaign
from drumbeat.campaigns.console.campaigns.result_readings import result_readings
from drumbeat.campaigns.console.campaigns.shapes import (
    CampaignResults,
    CampaignsQuery,
    Plan,
    Preview,
    RecipientQuery,
)
from drumbeat.campaigns.console.campaigns.watch import counted, status_of
from drumbeat.campaigns.console.web.context import Console, console_of
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient, preview_json
from drumbeat.campaigns.results.campaign_pages import CampaignPage, campaign_page
from drumbeat.campaigns.results.report import Report, campaign_report
from drumbeat.campaigns.results.status import CampaignStatus


async def listed(console: Console, asked: CampaignsQuery) -> CampaignPage:
    states = [] if asked.state is None else [asked.state]
    async with console.pool.acquire() as connection:
        found = await campaign_page(
            connection,
            before=asked.before,
            states=states,
            limit=asked.limit,
            tests=asked.tests,
            part_of_name=asked.q,
        )
    return await counted(console, found)


async def status(console: Console, name: str) -> CampaignStatus:
    return await status_of(console, (await find_campaign(console.pool, name)).campaign_id)


async def stream_progress(request: web.Request) -> web.StreamResponse:
    """Send the status as an event each second, if it changed. Every event is the whole status."""
    campaign, console = await named_campaign(request), console_of(request)

    async def read() -> dict[str, Any]:
        return (await status_of(console, campaign.campaign_id)).as_json()

    return await stream_events(request, "progress", read)


async def report(console: Console, name: str) -> Report:
    campaign = await find_campaign(console.pool, name)
    async with console.whole_readings:
        return await campaign_report(console.pool, campaign.campaign_id)


async def results(console: Console, name: str) -> CampaignResults:
    """Return the results as far as they are counted. They are counted in the background, as for the page."""
    campaign = await find_campaign(console.pool, name)
    reading = await console.part(result_readings).look(campaign.campaign_id)
    found = None if reading.results is None else reading.results.as_json()
    return cast(CampaignResults, {"counted": reading.counted, "results": found})


async def preview(console: Console, name: str, asked: RecipientQuery) -> Preview:
    chosen = await choose_recipient(console.pool, name, Choice(asked.row, asked.phone))
    return cast(Preview, preview_json(chosen))


async def plan(console: Console, name: str) -> Plan:
    return cast(Plan, await stored_plan(console, name))
