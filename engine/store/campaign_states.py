"""The one place that changes a campaign's state; the table it obeys is `engine.core.states`."""

from engine.core.states import CampaignEvent, CampaignState, IllegalTransition, apply
from engine.store.database import Connection
from engine.store.queries import queries


async def apply_event(
    connection: Connection, campaign_id: int, event: CampaignEvent, reason: str
) -> CampaignState:
    """Move a campaign and record why, in words a person reads ("token expired (190)").

    Locks the campaign's row; joins the caller's transaction where there is one. Returns the new state.
    Raises IllegalTransition where the present state does not know the event.
    """
    sql = queries("campaigns")
    async with connection.transaction():
        row = await connection.fetchrow(sql["lock_state"], campaign_id)
        if row is None:
            raise LookupError(f"no campaign {campaign_id}")
        state = apply(CampaignState(row["state"]), event)
        await connection.execute(sql["set_state"], campaign_id, state.value, reason)
    return state


async def apply_if_allowed(
    connection: Connection, campaign_id: int, event: CampaignEvent, reason: str
) -> CampaignState | None:
    """As `apply_event`, but None where somebody else already moved the campaign elsewhere."""
    try:
        return await apply_event(connection, campaign_id, event, reason)
    except IllegalTransition:
        return None


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
