"""The actions on a campaign: retry, clone, edit, delete, settle, and suppress its recipients."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import BaseModel

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.campaign import Campaign
from drumbeat.campaigns.changing.delete import DeletedCampaign, delete_campaign
from drumbeat.campaigns.changing.derived import cloned, edit_campaign, require_remote
from drumbeat.campaigns.changing.retry import RetryOptions, plan_retry
from drumbeat.campaigns.console.campaigns.api import named_campaign
from drumbeat.campaigns.console.campaigns.steering_shapes import (
    CloneRequest,
    EditRequest,
    RepliesQuery,
    RetryRequest,
    SettleRequest,
    SuppressMatching,
)
from drumbeat.campaigns.console.web.context import Console, caller_of, campaign_name, console_of
from drumbeat.campaigns.console.web.replying import body_of, job_json, job_key, query_of, reply, worked
from drumbeat.campaigns.life.approval import APPROVED_STATES
from drumbeat.campaigns.life.settle import Settled, settle_campaign
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.phones.suppression import SuppressionCounts
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.campaigns.results.matching import suppress_matching
from drumbeat.campaigns.results.replies import campaign_reply_page, reply_page
from drumbeat.campaigns.stored_recipients import EVERYBODY
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import NotFound, UsageError


async def retry(request: web.Request) -> web.Response:
    """Create a linked campaign of the recipients whom no message reached. A repeat changes nothing."""
    return await _planned(request, retry_named, await body_of(request, RetryRequest), takes_key=True)


async def _planned(
    request: web.Request,
    plan: Callable[..., Awaitable[CreatedCampaign]],
    asked: BaseModel,
    *,
    takes_key: bool = False,
    costly: bool = True,
) -> web.Response:
    """Plan the campaign in the background, as a job. `plan`: `retry_named`, or a function with the same
    parameters.
    """
    console, campaign, actor = console_of(request), await named_campaign(request), caller_of(request).name

    async def work(progress: ProgressCallback) -> dict[str, Any]:
        return planned_json(await plan(console, campaign.name, asked, actor, progress))

    return await worked(request, await request.read(), work, takes_key=takes_key, costly=costly)


async def retry_named(
    console: Console, name: str, asked: RetryRequest, actor: str, progress: ProgressCallback = no_progress
) -> CreatedCampaign:
    with tempfile.TemporaryDirectory() as directory:  # for a list of rejects: their phones were valid once
        given = RetryOptions(
            tuple(asked.code), asked.name, asked.start_at, asked.expires_at, Path(directory, "rejects.csv")
        )
        created = await plan_retry(
            console.database_url,
            name,
            given,
            progress,
            disk=console.settings.disk(),
            dry_run=asked.dry_run,
            open_uploads=uploads_with(console.settings),
        )
    await _note_created(console, created, actor, retry_of=name)
    return created


async def clone(request: web.Request) -> web.Response:
    """Create a draft with the same options. A repeat changes nothing."""
    return await _planned(request, clone_named, await body_of(request, CloneRequest), takes_key=True)


async def clone_named(
    console: Console, name: str, asked: CloneRequest, actor: str, progress: ProgressCallback = no_progress
) -> CreatedCampaign:
    require_remote(asked.changes)
    spec = await cloned(console.pool, name, asked.name, asked.changes, asked.unset)
    created = await create_campaign(
        console.database_url,
        spec,
        progress,
        disk=console.settings.disk(),
        dry_run=asked.dry_run,
        open_uploads=uploads_with(console.settings),
    )
    await _note_created(console, created, actor, clone_of=name)
    return created


async def edit(request: web.Request) -> web.Response:
    asked, campaign = await body_of(request, EditRequest), await named_campaign(request)

    return await _planned(request, edit_named, asked, costly=may_be_planned_anew(campaign))


def may_be_planned_anew(campaign: Campaign) -> bool:
    """Return whether an edit may plan the recipients anew, which waits for its turn. Any other edit takes no
    time and must not wait for the plans of others: it may stop what goes wrong.
    """
    return campaign.state is CampaignState.DRAFT


async def edit_named(
    console: Console, name: str, asked: EditRequest, actor: str, progress: ProgressCallback = no_progress
) -> CreatedCampaign:
    """Change the options of a campaign. ChangeRefused, with every difference, if one may not change now."""
    require_remote(asked.changes)
    return await edit_campaign(
        console.database_url,
        await stored_options(console.pool, name),
        asked.changes,
        asked.unset,
        progress,
        change_by=actor,
        disk=console.settings.disk(),
        dry_run=asked.dry_run,
        open_uploads=uploads_with(console.settings),
        unchanged_in=APPROVED_STATES if console.own.approval else (),
        now=asked.now,
    )


async def _note_created(console: Console, created: CreatedCampaign, actor: str, **detail: str) -> None:
    if not (created.unchanged or created.dry_run):
        await note_audit(console.pool, actor, "create", created.campaign_id, **detail)


def planned_json(created: CreatedCampaign) -> dict[str, Any]:
    found = created.as_json()
    for name in ("reject_codes", "encoding", "encoding_guessed", "same_audience"):
        del found[name]
    return {**found, "changes": [change.as_json() for change in created.changes]}


async def delete(request: web.Request) -> web.Response:
    return reply(await delete_named(request))


async def delete_named(request: web.Request) -> DeletedCampaign:
    console, name = console_of(request), campaign_name(request)
    return await delete_campaign(console.database_url, name, actor=caller_of(request).name)


async def doubts(request: web.Request) -> web.Response:
    return reply(doubts_json(await settle_named(request, None)))


async def settle(request: web.Request) -> web.Response:
    asked = await body_of(request, SettleRequest)
    return reply(doubts_json(await settle_named(request, asked.action)))


async def settle_named(request: web.Request, action: str | None) -> Settled:
    """Settle the recipients in doubt. It sends nothing itself: the workers send to those who are sent to
    again.
    """
    console, name = console_of(request), campaign_name(request)
    return await settle_campaign(
        console.pool, name, action, console.settings.silence_s, actor=caller_of(request).name
    )


def doubts_json(settled: Settled) -> dict[str, Any]:
    found = settled.as_json()
    del found["schema"], found["status"]
    return {**found, "may_resend": settled.may_resend}


async def suppress(request: web.Request) -> web.Response:
    """Suppress every recipient who matches, whatever their number. To finish an interrupted request, repeat
    it.
    """
    campaign, asked = await named_campaign(request), await body_of(request, SuppressMatching)

    async def work(progress: ProgressCallback) -> dict[str, Any]:
        actor = caller_of(request).name
        counts = await suppress_named(console_of(request), campaign, asked, actor, progress)
        return {"changed": counts.changed, "unchanged": counts.unchanged}

    return await worked(request, await request.read(), work)


async def suppress_named(
    console: Console,
    campaign: Campaign,
    asked: SuppressMatching,
    actor: str,
    progress: ProgressCallback = no_progress,
) -> SuppressionCounts:
    """Suppress the recipients who match. UsageError if the filter admits everybody because it is empty."""
    if asked.wanted == EVERYBODY:
        raise UsageError("it is not said whom to suppress", remedy="name a state, or every state")
    return await suppress_matching(
        console.pool, campaign.campaign_id, asked.wanted, asked.reason, progress, actor=actor
    )


async def campaign_replies(request: web.Request) -> web.Response:
    campaign, asked = await named_campaign(request), query_of(request, RepliesQuery)
    pool = console_of(request).pool
    return reply(
        await campaign_reply_page(pool, campaign.campaign_id, before=asked.before, limit=asked.limit)
    )


async def replies(request: web.Request) -> web.Response:
    asked = query_of(request, RepliesQuery)
    return reply(await reply_page(console_of(request).pool, before=asked.before, limit=asked.limit))


async def show_job(request: web.Request) -> web.Response:
    """Show the progress of a job that was answered with 202."""
    job = console_of(request).jobs.find(job_key(request.match_info["reference"]))
    if job is None:
        raise NotFound("this work is not known any more", remedy="campaigns and the audit show what it did")
    return reply(job_json(job))
