"""The campaigns in the interface: their pages, commands and test sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Any

from aiohttp import web

from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.console.account.pricing import stored_plan
from drumbeat.campaigns.console.campaigns.shapes import (
    CampaignsQuery,
    RecipientQuery,
    RecipientsQuery,
    ResumeQuery,
    TestSendRequest,
)
from drumbeat.campaigns.console.web.access import Via
from drumbeat.campaigns.console.web.context import caller_of, campaign_name, console_of, set_campaign
from drumbeat.campaigns.console.web.replying import body_of, once, query_of, reply
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.life.approval import release_by_two
from drumbeat.campaigns.life.control import CampaignChange, cancel, pause
from drumbeat.campaigns.life.release import Released, approve_checked, resume_checked, start_checked
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient, preview_json
from drumbeat.campaigns.preview.test_send import release_tests
from drumbeat.campaigns.results.campaign_pages import campaign_page
from drumbeat.campaigns.results.recipient_pages import recipient_page
from drumbeat.campaigns.results.report import campaign_report
from drumbeat.engine.core.states import CampaignEvent


async def list_campaigns(request: web.Request) -> web.Response:
    asked = query_of(request, CampaignsQuery)
    async with console_of(request).pool.acquire() as connection:
        found = await campaign_page(
            connection,
            before=asked.before,
            states=[] if asked.state is None else [asked.state],
            limit=asked.limit,
            tests=asked.tests,
        )
    return reply(await console_of(request).watch.counted(found))


async def named_campaign(request: web.Request) -> Campaign:
    """Return the campaign of the address. NotFound if there is none. Its name is looked up once for a
    request.
    """
    campaign = await find_campaign(console_of(request).pool, campaign_name(request))
    set_campaign(request, campaign.name)
    return campaign


async def show_campaign(request: web.Request) -> web.Response:
    campaign = await named_campaign(request)
    status = await console_of(request).watch.status(campaign.campaign_id)
    return reply(status.as_json())


async def stream_progress(request: web.Request) -> web.StreamResponse:
    """Send the status as an event each second, if it changed. Every event is the whole status."""
    campaign, console = await named_campaign(request), console_of(request)

    async def read() -> dict[str, Any]:
        return (await console.watch.status(campaign.campaign_id)).as_json()

    return await stream_events(request, "progress", read)


async def show_report(request: web.Request) -> web.Response:
    campaign, console = await named_campaign(request), console_of(request)
    async with console.whole_readings:
        report = await campaign_report(console.pool, campaign.campaign_id)
    return reply(report.as_json())


async def list_recipients(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, RecipientsQuery)
    pool = console_of(request).pool
    return reply(await recipient_page(pool, campaign.campaign_id, **asked.model_dump()))


async def preview(request: web.Request) -> web.Response:
    asked = query_of(request, RecipientQuery)
    chosen = await choose_recipient(
        console_of(request).pool, campaign_name(request), Choice(asked.row, asked.phone)
    )
    return reply(preview_json(chosen))


async def plan(request: web.Request) -> web.Response:
    return reply(await stored_plan(console_of(request), campaign_name(request)))


Steer = Callable[[web.Request], Awaitable[dict[str, Any]]]


async def start_named(request: web.Request) -> dict[str, Any]:
    return await _release(request, CampaignEvent.START, start_checked)


async def resume_named(request: web.Request) -> dict[str, Any]:
    return await resume_at(request, now=query_of(request, ResumeQuery).now)


async def resume_at(request: web.Request, *, now: bool) -> dict[str, Any]:
    """Resume the campaign. StartsAtOnce, unless `now`, if it waited for a start time that has passed."""
    return await _release(request, CampaignEvent.RESUME, partial(resume_checked, now=now), now=now)


async def _release(
    request: web.Request,
    event: CampaignEvent,
    release: Callable[..., Awaitable[Released]],
    *,
    now: bool = False,
) -> dict[str, Any]:
    console, caller = console_of(request), caller_of(request)
    asked = (console.pool, console.settings, campaign_name(request))
    if console.own.approval:
        is_person = caller.via is not Via.TOKEN
        released = await release_by_two(
            *asked, event, actor=caller.name, person=caller.person, is_person=is_person, now=now
        )
    else:
        released = await release(*asked, actor=caller.name)
    return _released_json(released)


def _released_json(released: Released) -> dict[str, Any]:
    return change_json(released.changes[0], "; ".join(released.notes))


async def pause_named(request: web.Request) -> dict[str, Any]:
    return await _steer(pause, request)


async def cancel_named(request: web.Request) -> dict[str, Any]:
    return await _steer(cancel, request)


async def approve_named(request: web.Request) -> dict[str, Any]:
    console, actor = console_of(request), caller_of(request).name
    return _released_json(
        await approve_checked(console.pool, console.settings, campaign_name(request), actor=actor)
    )


async def _steer(action: Callable[..., Awaitable[CampaignChange]], request: web.Request) -> dict[str, Any]:
    async with console_of(request).pool.acquire() as connection:
        change = await action(connection, campaign_name(request), actor=caller_of(request).name)
    return change_json(change)


def replying(action: Steer) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return a handler of the interface that steers a campaign."""

    async def handle(request: web.Request) -> web.Response:
        return reply(await action(request))

    return handle


def change_json(change: CampaignChange, note: str = "") -> dict[str, Any]:
    found = asdict(change)
    del found["stays_paused"]  # only for `--all`
    return {**found, "stopped_numbers": list(found["stopped_numbers"]), "note": note}


async def test_send(request: web.Request) -> web.Response:
    """Send the message to own phones. Each test is a campaign of one recipient, which the workers send."""
    asked, console = await body_of(request, TestSendRequest), console_of(request)
    campaign = await named_campaign(request)

    async def work() -> dict[str, Any]:
        chosen = await choose_recipient(console.pool, campaign.name, Choice(asked.row))
        return asdict(
            await release_tests(
                console.pool,
                console.database_url,
                chosen,
                asked.phones,
                asked.region,
                disk=console.settings.disk(),
                open_uploads=uploads_with(console.settings),
                actor=caller_of(request).name,
            )
        )

    return reply(await once(request, await request.read(), work, required=True), 201)
