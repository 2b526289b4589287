"""The pages of people's replies: to one campaign, and to all."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.console.campaigns.api import named_campaign
from drumbeat.campaigns.console.campaigns.steering_shapes import RepliesQuery
from drumbeat.campaigns.console.web.context import console_of
from drumbeat.campaigns.console.web.rendering import page
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.results.replies import campaign_reply_page, reply_page


async def show_campaign_replies(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, RepliesQuery)
    found = await campaign_reply_page(
        console_of(request).pool, campaign.campaign_id, before=asked.before, limit=asked.limit
    )
    return page(request, "replies.html.j2", campaign=campaign, found=found, asked=asked)


async def show_replies(request: web.Request) -> web.Response:
    asked = query_of(request, RepliesQuery)
    found = await reply_page(console_of(request).pool, before=asked.before, limit=asked.limit)
    return page(request, "replies.html.j2", campaign=None, found=found, asked=asked)
