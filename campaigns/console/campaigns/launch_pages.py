"""The start page of a campaign: all that cannot be undone in one place, and a test to one's own phone."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from aiohttp import web

from drumbeat.campaigns.account.numbers import read_number_names
from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.console.account.pricing import stored_plan
from drumbeat.campaigns.console.campaigns import actions
from drumbeat.campaigns.console.campaigns.named import campaign_url, named_campaign
from drumbeat.campaigns.console.campaigns.steering_shapes import EditRequest, ResumeQuery
from drumbeat.campaigns.console.web.cache import Kind
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of
from drumbeat.campaigns.console.web.local_times import UTC
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, redirect, render, texts_for
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.life.approval import StartRequest, start_request
from drumbeat.campaigns.life.control import is_future
from drumbeat.campaigns.options.identity import shown
from drumbeat.campaigns.options.schedule import RECIPIENT
from drumbeat.campaigns.preview.recipient import Choice, ChosenRecipient, choose_recipient
from drumbeat.campaigns.preview.test_send import tests_of
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import DrumbeatError

# A plan reads every recipient: 10 million take ten seconds. Nothing of it changes fast before the start.
# An edited draft has another plan, so its content belongs to the key.
PLAN: Kind[tuple[int, bytes], dict[str, Any]] = Kind("plan", period_s=60.0)
UNSTARTED = (CampaignState.DRAFT, CampaignState.SCHEDULED, CampaignState.PAUSED)
WAIT_S = 0.1  # a page does not wait longer for a plan
SHOWN_OPTIONS = (
    "window",
    "days",
    "time_zone",
    "quiet_hours",
    "cap",
    "canary",
    "canary_max_failed",
    "canary_minutes",
    "pause_at_failed",
    "priority",
    "share",
    "max_recipients",
)


@dataclass(frozen=True, slots=True)
class LaunchView:
    """The values of the start page. `plan` None: it is being read. `starts_at` None: the campaign starts at
    once. `needs_two`: one person asks for the start, and another one starts. `asked`: the person who asked.
    """

    campaign: Campaign
    chosen: ChosenRecipient
    plan: dict[str, Any] | None
    starts_at: datetime | None
    number_names: dict[str, str]
    tests: list[dict[str, Any]]
    needs_two: bool = False
    asked: StartRequest | None = None
    problem: Problem | None = None
    shown_options: tuple[str, ...] = field(default=SHOWN_OPTIONS)

    @property
    def senders(self) -> list[str]:
        """Return the names of the campaign's numbers."""
        return [self.number_names.get(number, number) for number in self.campaign.phone_number_ids]

    @property
    def zone(self) -> str:
        """Return the zone in which times are shown: the campaign's if it has one, else the page's."""
        zone = str(self.chosen.options.get("time_zone") or "")
        return "" if zone in (RECIPIENT, UTC) else zone

    @property
    def options(self) -> dict[str, Any]:
        """Return the options that a person should see again, by their keys."""
        given = shown(self.chosen.options)
        found = {key: given.get(key) for key in self.shown_options}
        if not any(found[key] for key in ("window", "days")):
            found["time_zone"] = None
        return {key: value for key, value in found.items() if value is not None}


async def show_launch(request: web.Request) -> web.Response:
    """Show the start page of a campaign that never started. For any other campaign, go to its own page."""
    campaign = await named_campaign(request)
    if not _is_unstarted(campaign):
        return redirect(campaign_url(campaign.name))
    return await _page(request, campaign)


def _is_unstarted(campaign: Campaign) -> bool:
    return campaign.state in UNSTARTED and campaign.started_at is None


async def stream_launch(request: web.Request) -> web.StreamResponse:
    """Send an event when the plan is read. Then the page loads again."""
    campaign, texts = await named_campaign(request), texts_for(request)

    async def read() -> str:
        return render("launch_live.html.j2", texts, ready=await _plan(request, campaign) is not None)

    return await stream_events(request, "view", read)


async def launch(request: web.Request) -> web.Response:
    """Start or schedule the campaign, as the page said. If that is refused, the same page shows the reason.
    It is also refused if the page named a time that has passed since and the campaign would start at once.
    """
    campaign = await named_campaign(request)
    waits = bool(await field_of(request, "waits"))
    if waits and not await _starts_at(request, campaign):
        return await _page(request, campaign)
    try:
        if await field_of(request, "accept_category"):
            await actions.accept_category(console_of(request), caller_of(request), campaign.name)
        await _begin(request, campaign, now=not waits)
    except DrumbeatError as error:
        if not _is_unstarted(campaign):
            raise
        return await _page(request, campaign, problem_of(error))
    return redirect(campaign_url(campaign.name))


async def _begin(request: web.Request, campaign: Campaign, *, now: bool) -> None:
    """Start the campaign. A scheduled one loses its start time, so that it starts at once: its page says so,
    because by itself it waits for that time.
    """
    of_campaign = (console_of(request), caller_of(request), campaign.name)
    if campaign.state is CampaignState.SCHEDULED:
        await actions.edit(*of_campaign, EditRequest(unset=["start_at"], now=now))
    elif campaign.state is CampaignState.PAUSED:
        await actions.resume(*of_campaign, ResumeQuery(now=now))
    else:
        await actions.start(*of_campaign)


async def _starts_at(request: web.Request, campaign: Campaign) -> datetime | None:
    """Return when it starts if it is started here; None: at once."""
    async with console_of(request).pool.acquire() as connection:
        is_later = campaign.state is not CampaignState.SCHEDULED and await is_future(connection, campaign)
    return campaign.start_at if is_later else None


async def _page(request: web.Request, campaign: Campaign, problem: Problem | None = None) -> web.Response:
    pool, needs_two = console_of(request).pool, console_of(request).own.approval
    chosen = await choose_recipient(pool, campaign.name, Choice())
    view = LaunchView(
        campaign,
        chosen,
        await _plan(request, campaign),
        await _starts_at(request, campaign),
        await read_number_names(pool),
        await tests_of(pool, campaign.name),
        needs_two,
        await start_request(pool, campaign) if needs_two else None,
        problem,
    )
    return page(request, "launch.html.j2", 200 if problem is None else problem.status, view=view)


async def _plan(request: web.Request, campaign: Campaign) -> dict[str, Any] | None:
    """Return the plan, or None if it is not there in a moment. The reading then goes on."""
    console = console_of(request)
    async with console.pool.acquire() as connection:
        made_of = await connection.fetchval(statements("campaigns")["content_hash"], campaign.campaign_id)
    reading = asyncio.ensure_future(
        console.cache.get(PLAN, (campaign.campaign_id, made_of), lambda: stored_plan(console, campaign.name))
    )
    reading.add_done_callback(
        lambda done: done.cancelled() or done.exception()
    )  # perhaps nobody waits for it any more
    done, _ = await asyncio.wait({reading}, timeout=WAIT_S)
    return reading.result() if done else None
