"""Who this installation is, and whether its database went back in time."""

import structlog

from engine.core.states import CampaignEvent
from engine.store.campaign_states import apply_if_allowed
from engine.store.database import Connection
from engine.store.queries import queries

TIME_TRAVEL = (
    "the database was restored, copied or failed over: recipients shown as not yet sent may have got "
    "the message; check before you resume"
)

log = structlog.get_logger(__name__)


async def identify(connection: Connection) -> str:
    """The installation's name. Ask on every new connection of a process that sends, before it is used.

    Another server, timeline, database or table than the name was written in means a restored backup or a
    fail-over: what lies above the marks may have been sent, and a campaign that never started here may have
    run. Every campaign that would send is paused first and needs a person's word. Not noticed: a whole
    machine, or the files of a server, put back to an earlier moment.
    """
    row = await connection.fetchrow(queries("board")["installation"])
    assert row is not None  # written by the migrations
    if row["moved"]:
        log.error("database_time_travel", effect="campaigns are paused")
        await _pause_all(connection)
    return str(row["installation"])


async def _pause_all(connection: Connection) -> None:
    async with connection.transaction():
        for row in await connection.fetch(queries("board")["may_have_sent"]):
            campaign_id = row["campaign_id"]
            if await apply_if_allowed(connection, campaign_id, CampaignEvent.PAUSE, TIME_TRAVEL) is None:
                await connection.execute(
                    queries("campaigns")["set_reason_of_pause"], campaign_id, TIME_TRAVEL
                )
        await connection.execute(queries("board")["accept_time_travel"])
