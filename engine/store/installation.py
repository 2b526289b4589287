"""Who this installation is, and whether its database went back in time."""

import structlog

from engine.core.states import CampaignEvent
from engine.store.campaign_states import apply_if_allowed
from engine.store.database import Connection
from engine.store.queries import queries

TIME_TRAVEL = (
    "the database was restored or failed over: whom it shows as not yet sent may have been sent to; "
    "check before you resume"
)

log = structlog.get_logger(__name__)


async def identify(connection: Connection) -> str:
    """The installation's name. To be asked at every start and after every lost connection.

    A changed system identifier or timeline means a restored backup or a fail-over: what lies above the marks
    may have been sent. Every running campaign is paused first and needs a person's word.
    """
    row = await connection.fetchrow(queries("board")["installation"])
    assert row is not None  # written by the migrations
    known = (row["system_identifier"], row["timeline"])
    if known != (row["server_identifier"], row["server_timeline"]):
        log.error("database_time_travel", effect="running campaigns are paused")
        async with connection.transaction():
            for campaign in await connection.fetch(queries("board")["running"], None):
                await apply_if_allowed(connection, campaign["campaign_id"], CampaignEvent.PAUSE, TIME_TRAVEL)
            await connection.execute(queries("board")["accept_time_travel"])
    return str(row["installation"])
