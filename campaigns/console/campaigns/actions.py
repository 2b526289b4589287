"""The actions on a campaign: each takes the console, the caller, the campaign's name and what was asked."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import cast

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.changing.delete import DeletedCampaign, delete_campaign
from drumbeat.campaigns.changing.derived import cloned, edit_campaign, require_remote
from drumbeat.campaigns.changing.retry import RetryOptions, plan_retry
from drumbeat.campaigns.console.campaigns.steering_shapes import (
    AgreedCategories,
    Change,
    CloneRequest,
    Doubts,
    EditRequest,
    Planned,
    ResumeQuery,
    RetryRequest,
    SettleRequest,
    TestSendRequest,
    TestSends,
)
from drumbeat.campaigns.console.campaigns.watch import CHANGED
from drumbeat.campaigns.console.web.access import Caller, Via
from drumbeat.campaigns.console.web.cache import changes
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.console.web.two_people import may_act
from drumbeat.campaigns.life import control
from drumbeat.campaigns.life.approval import APPROVED_STATES, release_by_two
from drumbeat.campaigns.life.category import accept_categories
from drumbeat.campaigns.life.control import CampaignChange
from drumbeat.campaigns.life.release import Released, approve_checked, resume_checked, start_checked
from drumbeat.campaigns.life.second_person import WAITS, Wish
from drumbeat.campaigns.life.settle import settle_campaign
from drumbeat.campaigns.options.identity import Difference, text_of
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient
from drumbeat.campaigns.preview.test_send import release_tests
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.engine.core.states import CampaignEvent, CampaignState

RESEND = "resend"


@changes(*CHANGED)
async def start(console: Console, caller: Caller, name: str) -> Change:
    return await _release(console, caller, name, CampaignEvent.START, start_checked)


@changes(*CHANGED)
async def resume(console: Console, caller: Caller, name: str, asked: ResumeQuery) -> Change:
    """Resume the campaign. StartsAtOnce, unless `now`, if it waited for a start time that has passed."""
    release = partial(resume_checked, now=asked.now)
    return await _release(console, caller, name, CampaignEvent.RESUME, release, now=asked.now)


async def _release(
    console: Console,
    caller: Caller,
    name: str,
    event: CampaignEvent,
    release: Callable[..., Awaitable[Released]],
    *,
    now: bool = False,
) -> Change:
    of_campaign = (console.pool, console.settings, name)
    if not console.own.approval:
        return _released(await release(*of_campaign, actor=caller.name))
    is_person = caller.via is not Via.TOKEN
    return _released(
        await release_by_two(
            *of_campaign, event, actor=caller.name, person=caller.person, is_person=is_person, now=now
        )
    )


@changes(*CHANGED)
async def accept_category(console: Console, caller: Caller, name: str) -> AgreedCategories:
    """Agree to send the campaign with the categories that its templates have now, as to another price."""
    return {"categories": await accept_categories(console.pool, name, actor=caller.name)}


@changes(*CHANGED)
async def pause(console: Console, caller: Caller, name: str) -> Change:
    async with console.pool.acquire() as connection:
        return _change(await control.pause(connection, name, actor=caller.name))


@changes(*CHANGED)
async def cancel(console: Console, caller: Caller, name: str) -> Change:
    async with console.pool.acquire() as connection:
        return _change(await control.cancel(connection, name, actor=caller.name))


@changes(*CHANGED)
async def approve(console: Console, caller: Caller, name: str) -> Change:
    return _released(await approve_checked(console.pool, console.settings, name, actor=caller.name))


def _released(released: Released) -> Change:
    return _change(released.changes[0], "; ".join(released.notes))


def _change(change: CampaignChange, note: str = "") -> Change:
    found = asdict(change)
    del found["stays_paused"]  # only for `--all`
    lists = {name: list(found[name]) for name in ("stopped_numbers", "held_numbers")}
    return cast(Change, {**found, **lists, "note": note})


@changes(*CHANGED)
async def test_send(console: Console, caller: Caller, name: str, asked: TestSendRequest) -> TestSends:
    """Send the message to own phones. Each test is a campaign of one recipient, which the workers send."""
    tests = await release_tests(
        console.pool,
        console.database_url,
        await choose_recipient(console.pool, name, Choice(asked.row)),
        asked.phones,
        asked.region,
        disk=console.settings.disk(),
        open_uploads=uploads_with(console.settings),
        actor=caller.name,
    )
    return {"campaigns": tests.campaigns, "nobody_sends": tests.nobody_sends}


@changes(*CHANGED)
async def retry(
    console: Console,
    caller: Caller,
    name: str,
    asked: RetryRequest,
    progress: ProgressCallback = no_progress,
) -> Planned:
    """Create a linked campaign of the recipients whom no message reached. A repeat changes nothing."""
    with tempfile.TemporaryDirectory() as directory:  # for a list of rejects: their phones were valid once
        given = RetryOptions(
            tuple(asked.code),
            asked.name,
            asked.start_at,
            asked.expires_at,
            Path(directory, "rejects.csv"),
            asked.all_codes,
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
    await _note_created(console, created, caller, retry_of=name)
    return _planned(created)


@changes(*CHANGED)
async def clone(
    console: Console,
    caller: Caller,
    name: str,
    asked: CloneRequest,
    progress: ProgressCallback = no_progress,
) -> Planned:
    """Create a draft with the same options. A repeat changes nothing."""
    require_remote(asked.changes)
    created = await create_campaign(
        console.database_url,
        await cloned(console.pool, name, asked.name, asked.changes, asked.unset),
        progress,
        disk=console.settings.disk(),
        dry_run=asked.dry_run,
        open_uploads=uploads_with(console.settings),
    )
    await _note_created(console, created, caller, clone_of=name)
    return _planned(created)


@changes(*CHANGED)
async def edit(
    console: Console,
    caller: Caller,
    name: str,
    asked: EditRequest,
    progress: ProgressCallback = no_progress,
) -> Planned:
    """Change the options of a campaign. ChangeRefused, with every difference, if one may not change now.
    Where a start needs two people, so does a change of what was started.
    """
    require_remote(asked.changes)
    change = partial(
        edit_campaign,
        console.database_url,
        await stored_options(console.pool, name),
        asked.changes,
        asked.unset,
        progress,
        change_by=caller.name,
        disk=console.settings.disk(),
        open_uploads=uploads_with(console.settings),
        unchanged_in=APPROVED_STATES if console.own.approval else (),
        now=asked.now,
    )
    campaign = await find_campaign(console.pool, name)
    if campaign.started_at is not None and not asked.dry_run:
        wanted = await change(dry_run=True)
        told = ", ".join(_told(each.difference) for each in wanted.changes)
        if told and not await may_act(console, caller, Wish.EDIT, campaign.campaign_id, told):
            return _planned(wanted, WAITS)
    return _planned(await change(dry_run=asked.dry_run))


def _told(difference: Difference) -> str:
    """Return a difference in words, as another person reads it before it is approved."""
    return f"{difference.option} {text_of(difference.old)} → {text_of(difference.new)}"


async def is_planned_anew(console: Console, name: str) -> bool:
    """Return whether an edit may plan the recipients anew, which waits for its turn. Any other edit takes no
    time and must not wait for the plans of others: it may stop what goes wrong.
    """
    return (await find_campaign(console.pool, name)).state is CampaignState.DRAFT


async def _note_created(console: Console, created: CreatedCampaign, caller: Caller, **detail: str) -> None:
    if not (created.unchanged or created.dry_run):
        await note_audit(console.pool, caller.name, "create", created.campaign_id, **detail)


def _planned(created: CreatedCampaign, note: str = "") -> Planned:
    found = created.as_json()
    for name in ("reject_codes", "encoding", "encoding_guessed", "same_audience"):
        del found[name]
    return cast(Planned, {**found, "changes": [change.as_json() for change in created.changes], "note": note})


@changes(*CHANGED)
async def delete(console: Console, caller: Caller, name: str) -> DeletedCampaign:
    return await delete_campaign(console.database_url, name, actor=caller.name)


async def doubts(console: Console, caller: Caller, name: str) -> Doubts:
    """Return the recipients in doubt. Nothing changes."""
    return await _settle(console, caller, name, None)


@changes(*CHANGED)
async def settle(console: Console, caller: Caller, name: str, asked: SettleRequest) -> Doubts:
    """Settle the recipients in doubt. It sends nothing itself: the workers send to those who are sent to
    again. Where a start needs two people, so does a resend.
    """
    campaign_id = (await find_campaign(console.pool, name)).campaign_id
    if asked.action == RESEND and not await may_act(console, caller, Wish.RESEND, campaign_id, RESEND):
        return await _settle(console, caller, name, None, WAITS)
    return await _settle(console, caller, name, asked.action)


async def _settle(console: Console, caller: Caller, name: str, action: str | None, note: str = "") -> Doubts:
    silence_s = console.settings.silence_s
    settled = await settle_campaign(console.pool, name, action, silence_s, actor=caller.name)
    found = settled.as_json()
    del found["schema"], found["status"]
    return cast(Doubts, {**found, "may_resend": settled.may_resend, "note": note})
