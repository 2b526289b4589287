"""The form that says whom an export holds, and in which form."""

from __future__ import annotations

from aiohttp import web

from campaigns.account.numbers import list_numbers
from campaigns.console.api.campaigns import named_campaign
from campaigns.console.api.replying import query_of
from campaigns.console.api.steering_shapes import ExportQuery
from campaigns.console.context import console_of
from campaigns.console.pages.rendering import page
from campaigns.results.export_files import ExportForm
from engine.core.states import RecipientState


async def show_export(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, ExportQuery)
    status = await console_of(request).watch.status(campaign.campaign_id)
    known = {each.phone_number_id: each for each in await list_numbers(console_of(request).pool)}
    return page(
        request,
        "export.html.j2",
        campaign=campaign,
        asked=asked,
        counts=status.counts,
        states=list(RecipientState),
        forms=list(ExportForm),
        numbers=campaign.phone_number_ids if len(campaign.phone_number_ids) > 1 else [],
        known=known,
        languages_of=sorted({each.language for each in status.templates}),
        variants_of=sorted({each.variant for each in status.templates if each.variant}),
    )
