"""The pages of the campaigns, and of one campaign, live."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from drumbeat.campaigns.campaign import Campaign, find_campaign, retries_of
from drumbeat.campaigns.console.campaigns import actions
from drumbeat.campaigns.console.campaigns.charts import rate_charts, segments
from drumbeat.campaigns.console.campaigns.further import further
from drumbeat.campaigns.console.campaigns.named import campaign_url, named_campaign
from drumbeat.campaigns.console.campaigns.shapes import CampaignsQuery
from drumbeat.campaigns.console.campaigns.steering_shapes import ResumeQuery
from drumbeat.campaigns.console.campaigns.watch import (
    STATUS,
    counted,
    missing_since,
    rates_of,
    status_of,
)
from drumbeat.campaigns.console.web.cache import Kind
from drumbeat.campaigns.console.web.context import Console, caller_of, console_of, name_of
from drumbeat.campaigns.console.web.language import Texts
from drumbeat.campaigns.console.web.rendering import page, redirect, render, texts_for
from drumbeat.campaigns.console.web.replying import query_of
from drumbeat.campaigns.console.web.roles import Role, permits
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.life.approval import start_request
from drumbeat.campaigns.life.release import would_start
from drumbeat.campaigns.results.audit_pages import campaign_audits
from drumbeat.campaigns.results.campaign_pages import (
    accepted_messages,
    campaign_page,
    campaigns_that_need_a_person,
)
from drumbeat.campaigns.results.funnel import accepted_beyond_people, funnel
from drumbeat.engine.core.states import CampaignEvent, CampaignState, RecipientState, allows
from drumbeat.engine.errors import NotFound

PAGE_ROWS = 25
# The live parts, rendered once a second however many look.
VIEW: Kind[tuple[str, Role, str], str] = Kind("campaign", of=(STATUS,))  # by language, role and name
LIST: Kind[tuple[str, str], str] = Kind("campaigns", of=(STATUS,))  # by language and query
STEERING = {"start": actions.start, "pause": actions.pause, "cancel": actions.cancel}
EVENTS = (CampaignEvent.START, CampaignEvent.PAUSE, CampaignEvent.RESUME, CampaignEvent.CANCEL)
CONFIRMED = (CampaignEvent.START, CampaignEvent.CANCEL)  # a page confirms first what cannot be undone


async def show_all(request: web.Request) -> web.Response:
    asked = query_of(request, CampaignsQuery)
    return page(
        request,
        "campaigns.html.j2",
        **await _list_values(console_of(request), asked),
        states=list(CampaignState),
        stream=f"/live{request.path_qs}",
    )


async def stream_all(request: web.Request) -> web.StreamResponse:
    console, texts, asked = console_of(request), texts_for(request), query_of(request, CampaignsQuery)
    key = (texts.code, asked.model_dump_json())

    async def render_list() -> str:
        return render("campaigns_live.html.j2", texts, **await _list_values(console, asked))

    async def read() -> str:
        return await console.cache.get(LIST, key, render_list)

    return await stream_events(request, "view", read)


async def _list_values(console: Console, asked: CampaignsQuery) -> dict[str, Any]:
    """Return a page of campaigns, and all campaigns that need a person, whatever the page."""
    states = [] if asked.state is None else [asked.state]
    async with console.pool.acquire() as connection:
        found = await campaign_page(
            connection,
            before=asked.before,
            states=states,
            limit=PAGE_ROWS,
            tests=asked.tests,
            part_of_name=asked.q,
        )
        needs = await campaigns_that_need_a_person(connection)
    return {"found": await counted(console, found), "needs": needs, "asked": asked}


async def show_one(request: web.Request) -> web.Response:
    campaign, console = await named_campaign(request), console_of(request)
    return page(
        request,
        "campaign.html.j2",
        campaign=campaign,
        live=await live_part(console, campaign.name, texts_for(request), caller_of(request).role),
        stream=f"/live{campaign_url(campaign.name)}",
        retries=await retries_of(console.pool, campaign),
        audits=await campaign_audits(console.pool, campaign.campaign_id),
    )


async def stream_one(request: web.Request) -> web.StreamResponse:
    campaign, console = await named_campaign(request), console_of(request)
    texts, role = texts_for(request), caller_of(request).role
    key = (texts.code, role, campaign.name)

    async def read() -> str:
        return await console.cache.get(VIEW, key, lambda: live_part(console, campaign.name, texts, role))

    return await stream_events(request, "view", read)


async def live_part(console: Console, name: str, texts: Texts, role: Role) -> str:
    """Return the part of a campaign's page that changes while the campaign is sent."""
    campaign = await find_campaign(console.pool, name)
    status = await status_of(console, campaign.campaign_id)
    rates = await rates_of(console, status, campaign.campaign_id)
    accepted = await accepted_messages(console.pool, campaign.campaign_id)
    may_send = permits(role, Role.SEND)
    actions = possible(campaign) if may_send else []
    return render(
        "campaign_live.html.j2",
        texts,
        campaign=campaign,
        status=status,
        counts=status.counts,
        segments=segments(status.counts),
        funnel=funnel(status.counts, accepted),
        beyond=accepted_beyond_people(status.counts, accepted),
        rates=rates,
        charts=rate_charts(rates, status.numbers),
        actions=actions,
        more=further(campaign, status) if may_send else [],
        start_request=await start_request(console.pool, campaign) if console.own.approval else None,
        confirmed=await _confirmed(console, campaign),
        states=list(RecipientState),
        missing_since=await missing_since(console, campaign.campaign_id),
    )


async def _confirmed(console: Console, campaign: Campaign) -> tuple[CampaignEvent, ...]:
    """Return the actions that a page confirms first. A resume is one of them if it starts the campaign for
    the first time, at once.
    """
    async with console.pool.acquire() as connection:
        starts = await would_start(connection, campaign)
    return (*CONFIRMED, CampaignEvent.RESUME) if starts else CONFIRMED


def possible(campaign: Campaign) -> list[CampaignEvent]:
    """Return the actions that a person can take now. Before its plan is complete, a campaign has none."""
    if campaign.planned_at is None:
        return []
    return [event for event in EVENTS if _is_offered(campaign.state, event)]


def _is_offered(state: CampaignState, event: CampaignEvent) -> bool:
    """Return whether the page offers the action. A scheduled campaign starts by its time, so `start` is not
    offered. A draft sends nothing that a pause would stop.
    """
    left_out = {(CampaignState.SCHEDULED, CampaignEvent.START), (CampaignState.DRAFT, CampaignEvent.PAUSE)}
    return allows(state, event) and (state, event) not in left_out


async def ask(request: web.Request) -> web.Response:
    """Show the page that confirms an action that cannot be undone."""
    campaign, action = await named_campaign(request), request.match_info["action"]
    if action in (CampaignEvent.START, CampaignEvent.RESUME):
        return redirect(campaign_url(campaign.name, "launch"))
    if action not in CONFIRMED:
        raise NotFound("there is no such question")
    status = await status_of(console_of(request), campaign.campaign_id)
    return page(request, "confirm.html.j2", campaign=campaign, action=action, waiting=status.waiting)


async def act(request: web.Request) -> web.Response:
    """Start, pause, resume or cancel. A resume that would start it leads to the start page first."""
    if request.match_info["action"] == CampaignEvent.RESUME:
        return await _resume(request)
    action = STEERING.get(request.match_info["action"])
    if action is None:
        raise NotFound("there is no such action")
    name = name_of(request)
    await action(console_of(request), caller_of(request), name)
    return redirect(campaign_url(name))


async def _resume(request: web.Request) -> web.Response:
    """Resume the campaign, or lead to its start page. A paused draft leads there too: it may have had a start
    time when the page was loaded.
    """
    campaign, console = await named_campaign(request), console_of(request)
    if CampaignEvent.RESUME in await _confirmed(console, campaign):
        return redirect(campaign_url(campaign.name, "launch"))
    await actions.resume(console, caller_of(request), campaign.name, ResumeQuery())
    return redirect(campaign_url(campaign.name))
