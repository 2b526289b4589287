"""Who this installation is, and whether its database went back in time."""

import asyncpg
import structlog

from engine.core.states import CampaignEvent
from engine.store.campaign_states import apply_if_allowed
from engine.store.database import Connection
from engine.store.queries import queries

ROLLBACK_DETECTED = (
    "the database was restored, copied or failed over: recipients shown as not yet sent may have got "
    "the message; check before you resume"
)

log = structlog.get_logger(__name__)


async def identify(connection: Connection) -> str:
    """The installation's name. Ask on every new connection of a process that sends, before it is used.

    Another server, timeline, database or table than the name was written in means a restored backup or a
    fail-over: what lies above the watermarks may have been sent, and a campaign that never started here may
    have run. Every campaign that would send is paused first and needs a person's word; so do the doubts of
    those that are over, whatever their policy says. Not noticed: a whole machine, or the files of a server,
    put back to an earlier moment.

    Raises ReadOnlySQLTransactionError on a standby: a connection outlives the moment in which its server
    takes over, and would then be used without another look.
    """
    installation, moved = await _look(connection)
    if moved:
        log.error("database_rollback_detected", effect="campaigns are paused")
        async with connection.transaction():
            await connection.execute(queries("campaign_cache")["lock_installation"])
            if (await _look(connection))[1]:  # or another connection was first, and a person may have looked
                await _pause_all(connection)
    return installation


async def _look(connection: Connection) -> tuple[str, bool]:
    """The installation's name, and whether the database is another one than it was written in."""
    row = await connection.fetchrow(queries("campaign_cache")["installation"])
    assert row is not None  # written by the migrations
    if row["standby"]:
        raise asyncpg.ReadOnlySQLTransactionError("its server is a standby")
    return row["installation"], row["moved"]


async def _pause_all(connection: Connection) -> None:
    sql = queries("campaign_cache")
    for row in await connection.fetch(sql["may_have_sent"]):
        campaign_id = row["campaign_id"]
        if await apply_if_allowed(connection, campaign_id, CampaignEvent.PAUSE, ROLLBACK_DETECTED) is None:
            await connection.execute(
                queries("campaigns")["set_reason_of_pause"], campaign_id, ROLLBACK_DETECTED
            )
    for statement in ("hold_doubts", "raise_epoch_floor", "accept_rollback"):
        await connection.execute(sql[statement])
