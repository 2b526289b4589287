"""The identity of this installation, and the check whether its database went back in time."""

import asyncpg

from drumbeat.engine.core.states import CampaignEvent, CampaignState, ReasonCode
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.store.campaign_states import apply_if_allowed, set_reason
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.notifications import add_of_rollback
from drumbeat.engine.store.queries import queries

ROLLBACK_DETECTED = (
    "the database was restored, copied or failed over: recipients shown as not yet sent may have got "
    "the message; check before you resume"
)

log = get_logger(__name__)


async def identify(connection: Connection) -> str:
    """Return the installation's name. A process that sends calls this on every new connection, before it is
    used.

    If the row was written in another server, timeline, database or table, a backup was restored or a standby
    took over: recipients above the watermarks may have been sent to, and a campaign that never started here
    may have run. So every campaign that would send is paused until a person resumes it, and recipients in
    doubt of finished campaigns wait for a person, whatever their policy says. The check does not notice if a
    whole machine, or the files of a server, were put back to an earlier moment.

    Raises ReadOnlySQLTransactionError on a standby. A connection survives the promotion of its server, and
    would be used after it without another check.
    """
    installation, elsewhere = await _read(connection)
    if elsewhere:
        log.error("database_rollback_detected", effect="campaigns are paused")
        async with connection.transaction():
            await connection.execute(queries("installation")["lock"])
            # Another connection may have been first, and a person may have resumed campaigns since.
            if (await _read(connection))[1]:
                await _pause_all(connection)
    return installation


async def _read(connection: Connection) -> tuple[str, bool]:
    """Return the installation's name, and whether its row was written elsewhere."""
    row = await connection.fetchrow(queries("installation")["installation"])
    assert row is not None  # `migrate` wrote it
    if row["standby"]:
        raise asyncpg.ReadOnlySQLTransactionError("its server is a standby")
    return row["installation"], row["elsewhere"]


async def _pause_all(connection: Connection) -> None:
    sql, code = queries("installation"), ReasonCode.DATABASE_ROLLED_BACK
    for row in await connection.fetch(sql["may_have_sent"]):
        campaign_id = row["campaign_id"]
        paused = await apply_if_allowed(connection, campaign_id, CampaignEvent.PAUSE, ROLLBACK_DETECTED, code)
        if paused is None:
            await set_reason(connection, campaign_id, CampaignState.PAUSED, ROLLBACK_DETECTED, code)
    await add_of_rollback(connection, ROLLBACK_DETECTED)
    for statement in ("hold_in_doubt", "raise_epoch_floor", "accept_rollback"):
        await connection.execute(sql[statement])
