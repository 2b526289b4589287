"""The first page: what needs a person, runs, starts next or was not started, and the last seven days."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from drumbeat.campaigns.console.campaigns.watch import STATUS, counted
from drumbeat.campaigns.console.web.cache import Kind
from drumbeat.campaigns.console.web.context import Console, caller_of, console_of
from drumbeat.campaigns.console.web.rendering import page, render, texts_for
from drumbeat.campaigns.console.web.roles import Role, permits
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.results.campaign_pages import (
    CampaignPage,
    campaign_page,
    campaigns_that_need_a_person,
)
from drumbeat.campaigns.results.week import Week, read_first_steps, read_week
from drumbeat.engine.core.states import CampaignState

SHOWN = 5  # of each kind
WEEK: Kind[None, Week] = Kind("week", period_s=10.0, rest=20)
HOME: Kind[tuple[str, Role], str] = Kind("home", of=(STATUS,))  # by language and role


async def show(request: web.Request) -> web.Response:
    return page(request, "home.html.j2", live=await _live_part(request), stream="/live/home")


async def stream(request: web.Request) -> web.StreamResponse:
    console, key = console_of(request), (texts_for(request).code, caller_of(request).role)

    async def read() -> str:
        return await console.cache.get(HOME, key, lambda: _live_part(request))

    return await stream_events(request, "view", read)


async def _live_part(request: web.Request) -> str:
    values = await _values(console_of(request))
    may_send = permits(caller_of(request).role, Role.SEND)
    return render("home_live.html.j2", texts_for(request), may_send=may_send, **values)


async def _values(console: Console) -> dict[str, Any]:
    async with console.pool.acquire() as connection:
        running = await campaign_page(connection, states=[CampaignState.RUNNING], limit=SHOWN)
        scheduled = await campaign_page(connection, states=[CampaignState.SCHEDULED])
        drafts = await campaign_page(connection, states=[CampaignState.DRAFT], limit=SHOWN)
        needs = await campaigns_that_need_a_person(connection)
        steps = await read_first_steps(connection)
    return {
        "needs": needs,
        "running": (await counted(console, running)).campaigns,
        "following": _by_start(scheduled)[:SHOWN],
        "drafts": drafts.campaigns,
        "week": await console.cache.get(WEEK, None, lambda: read_week(console.pool)),
        "first": steps,
    }


def _by_start(found: CampaignPage) -> list[Any]:
    return sorted((each for each in found.campaigns if each.start_at), key=lambda each: each.start_at)
