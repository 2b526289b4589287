"""The changes of campaigns' states. Only this module makes them; `engine.core.states` has the table that it
obeys.

Each change is stored together with the notification of it.
"""

from datetime import datetime

import asyncpg

from drumbeat.engine.core.states import CampaignEvent, CampaignState, ReasonCode, allows, apply
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.notifications import add_of_campaign
from drumbeat.engine.store.queries import queries


async def apply_event(
    connection: Connection,
    campaign_id: int,
    event: CampaignEvent,
    reason: str,
    code: ReasonCode | None = None,
) -> CampaignState:
    """Move a campaign and record why: in words for people ("token expired (190)") and as a code for programs.

    It locks the campaign's row, and joins the caller's transaction if there is one. Returns the new state.
    Raises IllegalTransition if the table does not allow the event in the present state.
    """
    async with connection.transaction():
        row = await _lock(connection, campaign_id)
        if row is None:
            raise LookupError(f"no campaign {campaign_id}")
        return await _move(connection, campaign_id, apply(CampaignState(row["state"]), event), reason, code)


async def apply_if_allowed(
    connection: Connection,
    campaign_id: int,
    event: CampaignEvent,
    reason: str,
    code: ReasonCode | None = None,
) -> CampaignState | None:
    """Move a campaign as `apply_event` does, or return None if its present state does not allow the event.

    Somebody else has moved it then. Returns None too if somebody deletes the campaign, or has deleted it: a
    scheduled one may be deleted just when its time comes. In both cases its row stays locked until the
    caller's transaction ends. An exception would roll the savepoint back and release the lock, and the
    campaign could finish before the caller commits what it reopened.
    """
    async with connection.transaction():
        row = await _lock(connection, campaign_id)
        if row is None or (event is CampaignEvent.START and not row["is_planned"]):
            return None
        if not allows(CampaignState(row["state"]), event):
            return None
        return await _move(connection, campaign_id, apply(CampaignState(row["state"]), event), reason, code)


async def set_reason(
    connection: Connection, campaign_id: int, state: CampaignState, reason: str, code: ReasonCode | None
) -> None:
    """Record another reason for the present state. If the campaign is in another state, nothing changes."""
    await connection.execute(queries("campaigns")["set_reason"], campaign_id, state.value, reason, code)


async def _lock(connection: Connection, campaign_id: int) -> asyncpg.Record | None:
    return await connection.fetchrow(queries("campaigns")["lock_state"], campaign_id)


async def _move(
    connection: Connection, campaign_id: int, state: CampaignState, reason: str, code: ReasonCode | None
) -> CampaignState:
    await connection.execute(queries("campaigns")["set_state"], campaign_id, state.value, reason, code)
    await add_of_campaign(connection, campaign_id, state, reason, code)
    return state


async def pause_campaigns_of_template(
    connection: Connection, name: str, language: str, reason: str, written_at: datetime | None = None
) -> list[int]:
    """Pause every scheduled or running campaign of a template that the service no longer sends.

    `written_at` is when the message was written whose status reports that. Campaigns that a person released
    later stay as they are.
    """
    paused = []
    for row in await connection.fetch(queries("campaigns")["of_template"], name, language, written_at):
        campaign_id = row["campaign_id"]
        state = await apply_if_allowed(
            connection, campaign_id, CampaignEvent.PAUSE, reason, ReasonCode.TEMPLATE_REFUSED
        )
        if state is not None:
            paused.append(campaign_id)
    return paused


async def pause_all_campaigns(connection: Connection, reason: str, code: ReasonCode) -> list[int]:
    """Pause every scheduled or running campaign."""
    paused = []
    for row in await connection.fetch(queries("campaigns")["that_may_send"]):
        state = await apply_if_allowed(connection, row["campaign_id"], CampaignEvent.PAUSE, reason, code)
        if state is not None:
            paused.append(row["campaign_id"])
    return paused
