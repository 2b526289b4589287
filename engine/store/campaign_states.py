"""The one place that changes a campaign's state; the table it obeys is `engine.core.states`."""

from engine.core.states import CampaignEvent, CampaignState, allows, apply
from engine.store.database import Connection
from engine.store.queries import queries


async def apply_event(
    connection: Connection, campaign_id: int, event: CampaignEvent, reason: str
) -> CampaignState:
    """Move a campaign and record why, in words a person reads ("token expired (190)").

    Locks the campaign's row; joins the caller's transaction where there is one. Returns the new state.
    Raises IllegalTransition where the present state does not know the event.
    """
    async with connection.transaction():
        state = await _lock(connection, campaign_id)
        return await _move(connection, campaign_id, state, event, reason)


async def apply_if_allowed(
    connection: Connection, campaign_id: int, event: CampaignEvent, reason: str
) -> CampaignState | None:
    """As `apply_event`, but None where somebody else already moved the campaign elsewhere.

    Then too its row stays locked until the caller's transaction ends. An error would undo the savepoint, and
    the lock with it: a campaign could finish in between, and what the caller has opened again be forgotten.
    """
    async with connection.transaction():
        state = await _lock(connection, campaign_id)
        if not allows(state, event):
            return None
        return await _move(connection, campaign_id, state, event, reason)


async def _lock(connection: Connection, campaign_id: int) -> CampaignState:
    row = await connection.fetchrow(queries("campaigns")["lock_state"], campaign_id)
    if row is None:
        raise LookupError(f"no campaign {campaign_id}")
    return CampaignState(row["state"])


async def _move(
    connection: Connection, campaign_id: int, state: CampaignState, event: CampaignEvent, reason: str
) -> CampaignState:
    following = apply(state, event)
    await connection.execute(queries("campaigns")["set_state"], campaign_id, following.value, reason)
    return following


async def pause_campaigns_of_template(
    connection: Connection, name: str, language: str, reason: str
) -> list[int]:
    """Pause every scheduled or running campaign of a template that the service no longer sends."""
    rows = await connection.fetch(queries("campaigns")["of_template"], name, language)
    return [
        row["campaign_id"]
        for row in rows
        if await apply_if_allowed(connection, row["campaign_id"], CampaignEvent.PAUSE, reason) is not None
    ]
