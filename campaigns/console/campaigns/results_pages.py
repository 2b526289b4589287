"""The results of one campaign: a page with a view for each property, and the same as one file."""

from __future__ import annotations

from typing import Annotated, Any

from aiohttp import web
from pydantic import Field

from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.console.campaigns.charts import (
    interval_plots,
    line_segments,
    rate_charts,
    segments,
)
from drumbeat.campaigns.console.campaigns.named import campaign_url, named_campaign
from drumbeat.campaigns.console.campaigns.result_readings import result_readings
from drumbeat.campaigns.console.web.attachments import attachment
from drumbeat.campaigns.console.web.cache import Kind
from drumbeat.campaigns.console.web.code_texts import code_meaning, code_remedy
from drumbeat.campaigns.console.web.context import Console, console_of
from drumbeat.campaigns.console.web.language import Texts
from drumbeat.campaigns.console.web.rendering import page, redirect, render, texts_for
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.console.web.shapes import Asked
from drumbeat.campaigns.console.web.static import content
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.results.breakdown import By, percentiles_s
from drumbeat.campaigns.results.funnel import accepted_beyond_people, funnel
from drumbeat.campaigns.results.results import CampaignResults
from drumbeat.campaigns.results.variants import COMPARED, winner
from drumbeat.engine.core.states import RecipientState

# The live part, rendered once a second however many look: by language, property and campaign.
VIEW: Kind[tuple[str, By | None, int], str] = Kind("results")


class ResultsQuery(Asked):
    by: Annotated[By | None, Field(description="A line for each value of this property")] = None


async def show_results(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, ResultsQuery)
    live = await _live_part(console_of(request), campaign, asked.by, texts_for(request))
    return page(
        request,
        "results.html.j2",
        campaign=campaign,
        by=asked.by,
        live=live,
        stream=f"/live{request.path_qs}",
    )


async def stream_results(request: web.Request) -> web.StreamResponse:
    campaign, asked = await named_campaign(request), query_of(request, ResultsQuery)
    console, texts = console_of(request), texts_for(request)
    key = (texts.code, asked.by, campaign.campaign_id)

    async def read() -> str:
        return await console.cache.get(VIEW, key, lambda: _live_part(console, campaign, asked.by, texts))

    return await stream_events(request, "view", read)


async def _live_part(console: Console, campaign: Campaign, by: By | None, texts: Texts) -> str:
    reading = await console.part(result_readings).look(campaign.campaign_id)
    values = {} if reading.results is None else result_values(reading.results)
    return render(
        "results_live.html.j2",
        texts,
        campaign=campaign,
        by=by,
        results=reading.results,
        counted=reading.counted,
        offline=False,
        **values,
    )


async def download(request: web.Request) -> web.Response:
    """Send the report as one file. While results are still read, show the progress."""
    campaign = await named_campaign(request)
    reading = await console_of(request).part(result_readings).look(campaign.campaign_id)
    if reading.results is None:
        return redirect(campaign_url(campaign.name, "results"))
    texts = texts_for(request)
    return web.Response(
        text=report_file(reading.results, texts),
        content_type="text/html",
        headers={
            "Content-Disposition": attachment("html", campaign.name, texts("results.title"), zone=texts.zone)
        },
    )


def report_file(results: CampaignResults, texts: Texts) -> str:
    """Return the results as one HTML file that loads nothing."""
    style = content("console.css").decode()
    values = {"style": style, "results": results, "offline": True, **result_values(results)}
    return render("report_file.html.j2", texts, **values)


def result_values(results: CampaignResults) -> dict[str, Any]:
    """Return the values that the templates of results need beside the results."""
    status = results.status
    return {
        "status": status,
        "counts": status.counts,
        "funnel": funnel(status.counts, results.accepted),
        "beyond": accepted_beyond_people(status.counts, results.accepted),
        "segments": segments(status.counts),
        "line_segments": line_segments,
        "charts": rate_charts(results.rates, status.numbers),
        "percentiles_s": percentiles_s,
        "interval_plots": interval_plots,
        "labels": {number.phone_number_id: number.label for number in status.numbers},
        "winner": winner,
        "compared": COMPARED,
        "code_meaning": code_meaning,
        "code_remedy": code_remedy,
        "states": list(RecipientState),
        "By": By,
    }
