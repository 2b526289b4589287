"""The release of a campaign to the workers, after a look at everything that the service would refuse."""

from __future__ import annotations

from dataclasses import dataclass

from drumbeat.campaigns.account.tier_warnings import tier_warnings
from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.life.control import (
    CampaignChange,
    Seen,
    approve,
    is_future,
    resume,
    resume_all,
    start,
)
from drumbeat.campaigns.life.template_check import checking
from drumbeat.campaigns.life.token_check import check_token, waits_for_token
from drumbeat.engine.core.states import CampaignState, ReasonCode
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Connection, Pool


@dataclass(frozen=True, slots=True)
class Released:
    """The result of a release. `notes` are sentences that a person should read beside the changes."""

    changes: list[CampaignChange]
    notes: list[str]


async def would_start(connection: Connection, campaign: Campaign) -> bool:
    """Tell whether a resume is its first start, and at once."""
    is_unstarted = campaign.state is CampaignState.PAUSED and campaign.started_at is None
    return is_unstarted and not await is_future(connection, campaign)


async def start_checked(
    pool: Pool, settings: Settings, name: str, *, actor: str, seen: Seen | None = None
) -> Released:
    """Start a campaign if its templates match the service's. Raise as `start` and `TemplateCheck` do."""
    check = checking(pool, settings)
    async with pool.acquire() as connection:
        change = await start(connection, name, actor=actor, check=check, seen=seen)
        numbers = (await find_campaign(connection, change.name)).phone_number_ids
    return Released([change], list(dict.fromkeys([*check.notes, *await tier_warnings(pool, numbers)])))


async def resume_checked(
    pool: Pool,
    settings: Settings,
    name: str | None,
    *,
    actor: str,
    seen: Seen | None = None,
    now: bool = False,
) -> Released:
    """Resume a campaign, or all if `name` is None. `now` has the meaning that it has for `resume`.

    If the service had refused the access token, the token is tried first. If it is still refused, raise
    AuthenticationError and resume nothing.
    """
    notes = []
    check = checking(pool, settings)
    async with pool.acquire() as connection:
        campaign = None if name is None else await find_campaign(connection, name)
        waiting = await waits_for_token(connection, None if campaign is None else campaign.campaign_id)
        if waiting and (unchecked := await check_token(settings)):
            notes.append(f"the access token was not checked: {unchecked}")
        if campaign is None:
            changes = await resume_all(connection, actor=actor, check=check)
        else:
            changes = [await resume(connection, campaign, actor=actor, check=check, seen=seen, now=now)]
    return Released(changes, list(dict.fromkeys([*notes, *check.notes])))


async def approve_checked(pool: Pool, settings: Settings, name: str, *, actor: str) -> Released:
    """Approve the canary of a campaign. If the rest is sent at once, its templates are compared first."""
    check = checking(pool, settings)
    async with pool.acquire() as connection:
        campaign = await find_campaign(connection, name)
        if campaign.reason_code is ReasonCode.APPROVAL_NEEDED:
            await check(campaign)
        change = await approve(connection, campaign, actor=actor)
    return Released([change], list(dict.fromkeys(check.notes)))
