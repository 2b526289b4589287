"""The results of one campaign: a page with a view for each property, and the same as one file."""

from __future__ import annotations

from typing import Annotated, Any

from aiohttp import web
from pydantic import Field

from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.console.campaigns.api import named_campaign
from drumbeat.campaigns.console.campaigns.charts import interval_plots, line_segments, rate_charts, segments
from drumbeat.campaigns.console.campaigns.live import SharedReadings
from drumbeat.campaigns.console.campaigns.result_readings import READINGS, ResultReadings
from drumbeat.campaigns.console.campaigns.shapes import NoQuery
from drumbeat.campaigns.console.web.attachments import attachment
from drumbeat.campaigns.console.web.language import Texts, texts_of
from drumbeat.campaigns.console.web.rendering import campaign_url, page, redirect, render, texts_for
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.console.web.static import content
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.results.breakdown import By, percentiles_s
from drumbeat.campaigns.results.funnel import accepted_beyond_people, funnel
from drumbeat.campaigns.results.results import CampaignResults
from drumbeat.campaigns.results.variants import COMPARED, winner
from drumbeat.engine.core.error_codes import meaning_of, remedy_of
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool

VIEWS: web.AppKey[SharedReadings[str]] = web.AppKey("result_views", SharedReadings)


class ResultsQuery(NoQuery):
    by: Annotated[By | None, Field(description="A line for each value of this property")] = None


async def show_results(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, ResultsQuery)
    live = await _live_part(request.app[READINGS], campaign, asked.by, texts_for(request))
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
    texts = texts_for(request)

    key = f"{texts.code} {asked.by or '-'} {campaign.name}"

    async def read() -> str:
        return await request.app[VIEWS].get(key)

    return await stream_events(request, "view", read)


def shared_results(readings: ResultReadings, pool: Pool, zone: str) -> SharedReadings[str]:
    """Return the live parts by language, property and name: rendered once a second, however many look."""

    async def read(key: str) -> str:
        code, by, name = key.split(" ", 2)
        campaign = await find_campaign(pool, name)
        return await _live_part(readings, campaign, None if by == "-" else By(by), texts_of(code, zone))

    return SharedReadings(read)


async def _live_part(readings: ResultReadings, campaign: Campaign, by: By | None, texts: Texts) -> str:
    reading = await readings.look(campaign.campaign_id)
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
    reading = await request.app[READINGS].look(campaign.campaign_id)
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
        "meaning_of": meaning_of,
        "remedy_of": remedy_of,
        "states": list(RecipientState),
        "By": By,
    }
