"""Hands a campaign to the workers once everything that the service would refuse was looked at."""

from __future__ import annotations

from dataclasses import dataclass

from campaigns.account.tier_warnings import tier_warnings
from campaigns.life.control import CampaignChange, Seen, find_campaign, resume, resume_all, start
from campaigns.life.template_check import checking
from campaigns.life.token_check import check_token, waits_for_token
from engine.process.settings import Settings
from engine.store.database import Pool


@dataclass(frozen=True, slots=True)
class Released:
    """`notes`: what a person should know beside the changes, in sentences."""

    changes: list[CampaignChange]
    notes: list[str]


async def start_checked(
    pool: Pool, settings: Settings, name: str, *, actor: str, seen: Seen | None = None
) -> Released:
    """Start a campaign whose templates are as the service has them. Errors as `start` and `TemplateCheck`."""
    check = checking(pool, settings)
    async with pool.acquire() as connection:
        change = await start(connection, name, actor=actor, check=check, seen=seen)
        numbers = (await find_campaign(connection, change.name)).phone_number_ids
    return Released([change], list(dict.fromkeys([*check.notes, *await tier_warnings(pool, numbers)])))


async def resume_checked(
    pool: Pool, settings: Settings, name: str | None, *, actor: str, seen: Seen | None = None
) -> Released:
    """Resume a campaign, or all if `name` is None. If the service had refused the access token, it is tried
    first: AuthenticationError, and nothing is resumed, if it is still refused.
    """
    notes = []
    check = checking(pool, settings)
    async with pool.acquire() as connection:
        name = None if name is None else (await find_campaign(connection, name)).name
        if await waits_for_token(connection, name) and (unchecked := await check_token(settings)):
            notes.append(f"the access token was not checked: {unchecked}")
        if name is None:
            changes = await resume_all(connection, actor=actor, check=check)
        else:
            changes = [await resume(connection, name, actor=actor, check=check, seen=seen)]
    return Released(changes, list(dict.fromkeys([*notes, *check.notes])))
