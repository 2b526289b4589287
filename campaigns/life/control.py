"""What people do with a campaign once it is planned: find, list, release, pause, resume, cancel."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches

import asyncpg

from campaigns.describe_database import place
from campaigns.results.status import NOBODY_SENDS, present_reason, stored_code
from engine.core.states import CampaignEvent, CampaignState, IllegalTransition, ReasonCode, allows
from engine.errors import ConfigurationError, TryLater
from engine.process.identity import this_process
from engine.store.campaign_states import apply_event, apply_if_allowed
from engine.store.closing import close_ranges
from engine.store.database import Connection, Pool
from engine.store.queries import queries
from engine.store.recovery import recover_abandoned

LISTED_MAX = 1_000
PAUSED_BY_HAND = "paused by hand"
CANCELLED_BY_HAND = "cancelled by hand"


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign as stored. `planned_at` None: its planning goes on, or was interrupted."""

    campaign_id: int
    name: str
    external_id: str | None
    state: CampaignState
    reason: str
    reason_code: ReasonCode | None
    template: str
    language: str
    phone_number_ids: list[str]
    on_unknown: str
    start_at: datetime | None
    expires_at: datetime | None
    max_failed: str | None
    audience_rows: int
    rejected: int
    duplicates: int
    recipients: int
    created_at: datetime
    planned_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of a campaign. `changed` False: it was there already. `skipped`: by a cancel.

    `nobody_sends`: it was released, it runs, and no process holds any of its numbers.
    """

    name: str
    state: CampaignState
    changed: bool
    skipped: int = 0
    nobody_sends: bool = False


async def find_campaign(database: Pool | Connection, name: str) -> Campaign:
    """The campaign of that name; ConfigurationError names the database and near names."""
    row = await database.fetchrow(queries("campaign_control")["find"], name)
    if row is not None:
        return _campaign(row)
    names = [row["name"] for row in await database.fetch(queries("campaign_control")["names_like"])]
    near = get_close_matches(name, names, 3)
    raise ConfigurationError(
        f'there is no campaign "{name}"',
        where=await place(database),
        remedy=f"did you mean {' or '.join(near)}?" if near else "see: drumbeat campaign list",
    )


async def list_campaigns(connection: Connection) -> list[Campaign]:
    """The newest campaigns first."""
    rows = await connection.fetch(queries("campaign_control")["list"], LISTED_MAX)
    listed = [_campaign(row) for row in rows]
    in_doubt = [one.campaign_id for one in listed if one.reason_code is ReasonCode.IN_DOUBT]
    found = await connection.fetch(queries("campaign_control")["unknown_counts"], in_doubt)
    unknown = {row["campaign_id"]: row["unknown"] for row in found}
    owned = await _owned_numbers(connection)
    return [_present(one, unknown.get(one.campaign_id, 0), owned) for one in listed]


def _campaign(row: asyncpg.Record) -> Campaign:
    return Campaign(
        **{**dict(row), "state": CampaignState(row["state"]), "reason_code": stored_code(row["reason_code"])}
    )


async def _owned_numbers(connection: Connection) -> set[str]:
    return {
        row["phone_number_id"] for row in await connection.fetch(queries("campaign_control")["owned_numbers"])
    }


def _nobody_sends(campaign: Campaign, owned: AbstractSet[str]) -> bool:
    return campaign.state is CampaignState.RUNNING and owned.isdisjoint(campaign.phone_number_ids)


def _present(campaign: Campaign, unknown: int, owned: AbstractSet[str]) -> Campaign:
    """The campaign with the reason that holds now."""
    if _nobody_sends(campaign, owned):
        return replace(campaign, reason=NOBODY_SENDS, reason_code=ReasonCode.NOBODY_SENDS)
    reason, code = present_reason(campaign.reason, campaign.reason_code, unknown)
    return replace(campaign, reason=reason, reason_code=code)


async def is_future(connection: Connection, campaign: Campaign) -> bool:
    """Whether its time has not come, by the database's clock: the one that starts it then."""
    return bool(await connection.fetchval(queries("campaign_control")["is_future"], campaign.campaign_id))


async def start(connection: Connection, name: str, *, actor: str = "") -> Moved:
    """Release a campaign to the workers: at once, or when its time has come. `actor`, here and below: who
    asked, for the audit.

    TryLater for a paused one, whose pause only `resume` lifts, and for one that is not planned.
    """
    return await _release(connection, name, CampaignEvent.START, actor)


async def resume(connection: Connection, name: str, *, actor: str = "") -> Moved:
    """Lift a pause; before its time a campaign only goes back to waiting for it.

    Its numbers that were stopped until a person decides are tried again.
    """
    campaign = await find_campaign(connection, name)
    if campaign.state is CampaignState.PAUSED:
        await connection.execute(queries("leases")["lift_stops"], campaign.campaign_id)
    return await _release(connection, name, CampaignEvent.RESUME, actor)


async def pause(connection: Connection, name: str, *, actor: str = "") -> Moved:
    """Stop claiming; what is claimed is still sent. Running processes see it within a second."""
    async with connection.transaction():
        campaign = await _held(connection, name)
        if campaign.state is CampaignState.PAUSED:
            return Moved(name, campaign.state, changed=False)
        state = await apply_event(
            connection,
            campaign.campaign_id,
            CampaignEvent.PAUSE,
            PAUSED_BY_HAND,
            ReasonCode.PAUSED_BY_HAND,
        )
        await _note(connection, campaign.campaign_id, "pause", actor)
    return Moved(name, state, changed=True)


async def pause_all(connection: Connection, *, actor: str = "") -> list[Moved]:
    """The emergency stop: every scheduled or running campaign."""
    moved = []
    for row in await connection.fetch(queries("campaign_control")["active"]):
        state = await apply_if_allowed(
            connection,
            row["campaign_id"],
            CampaignEvent.PAUSE,
            PAUSED_BY_HAND,
            ReasonCode.PAUSED_BY_HAND,
        )
        if state is not None:
            await _note(connection, row["campaign_id"], "pause", actor)
            moved.append(Moved(row["name"], state, changed=True))
    return moved


async def resume_all(connection: Connection, *, actor: str = "") -> list[Moved]:
    """Lift every pause, whoever made it. What has never started stays paused: it may have been a draft then,
    which nobody has released yet.
    """
    moved = []
    for row in await connection.fetch(queries("campaign_control")["paused"]):
        if not row["started"]:
            moved.append(Moved(row["name"], CampaignState.PAUSED, changed=False))
            continue
        with suppress(IllegalTransition):  # it has ended meanwhile
            moved.append(await resume(connection, row["name"], actor=actor))
    return moved


async def cancel(connection: Connection, name: str, *, actor: str = "") -> Moved:
    """End a campaign for good: recipients that are not claimed are skipped.

    A second call finishes what a killed first one left. TryLater for a campaign that is not planned.
    """
    async with connection.transaction():
        campaign = await _held(connection, name)
        require_planned(campaign)
        changed = campaign.state is not CampaignState.CANCELLED
        if changed:
            await apply_event(
                connection,
                campaign.campaign_id,
                CampaignEvent.CANCEL,
                CANCELLED_BY_HAND,
                ReasonCode.CANCELLED_BY_HAND,
            )
            await _note(connection, campaign.campaign_id, "cancel", actor)
    skipped = await close(connection, campaign.campaign_id, CampaignState.CANCELLED)
    return Moved(name, CampaignState.CANCELLED, changed, skipped)


async def close(connection: Connection, campaign_id: int, state: CampaignState) -> int:
    """Skip whom a cancelled or expired campaign left; returns how many. Repeated, it changes nothing."""
    skipped = await close_ranges(connection, campaign_id, state.value)
    # A sender that was killed left doubts, and nobody else would name them any more.
    await recover_abandoned(connection, this_process())
    return skipped


async def _release(connection: Connection, name: str, asked: CampaignEvent, actor: str) -> Moved:
    async with connection.transaction():
        campaign = await _held(connection, name)
        require_planned(campaign)
        if campaign.state in (CampaignState.RUNNING, CampaignState.SCHEDULED):
            return await _released(connection, campaign, campaign.state, changed=False)
        if campaign.state is CampaignState.PAUSED and asked is CampaignEvent.START:
            raise TryLater(f'the campaign "{name}" is paused: {campaign.reason}', remedy="resume it")
        if not allows(campaign.state, asked):
            raise IllegalTransition(campaign.state, asked)
        event = CampaignEvent.SCHEDULE if await is_future(connection, campaign) else asked
        state = await apply_event(connection, campaign.campaign_id, event, "")
        await _note(connection, campaign.campaign_id, asked.value, actor)
    return await _released(connection, campaign, state, changed=True)


async def _released(
    connection: Connection, campaign: Campaign, state: CampaignState, *, changed: bool
) -> Moved:
    waits = _nobody_sends(replace(campaign, state=state), await _owned_numbers(connection))
    return Moved(campaign.name, state, changed, nobody_sends=waits)


async def _held(connection: Connection, name: str) -> Campaign:
    """The campaign as it is now and stays until the transaction ends: two may ask the same at once."""
    campaign = await find_campaign(connection, name)
    await connection.execute(queries("campaigns")["lock_state"], campaign.campaign_id)
    return await find_campaign(connection, name)


async def _note(connection: Connection, campaign_id: int, action: str, actor: str) -> None:
    if actor:
        await connection.execute(queries("campaigns")["audit"], actor, action, campaign_id, {})


def require_planned(campaign: Campaign) -> None:
    """TryLater for a campaign whose recipients are not all there yet."""
    if campaign.planned_at is None:
        raise TryLater(
            f'the campaign "{campaign.name}" is not planned: its create still runs, or was interrupted',
            remedy="wait for it, or run the same create again",
        )
