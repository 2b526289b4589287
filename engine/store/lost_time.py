"""The recipients who may have been sent to in the time that a restored database does not know.

Law: a recipient that the database shows as not yet sent may have got the message in that time. Once in doubt,
it is sent to again only if a person says so. A recipient that the numbers could not reach within their limits
stays pending.
"""

from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

RANGES_PER_TRANSACTION = 100  # about 100,000 recipients at most: keeps locks short
LOST = "the database went back in time: it may have been sent to before"
# Longer than any backup is kept. The limits of all numbers then reach every recipient of any campaign.
LOST_S_MAX = 366 * 86_400


async def doubt_lost_time(connection: Connection, campaign_id: int, lost_s: float, actor: str) -> int:
    """Put in doubt the recipients to whom the campaign may have sent within `lost_s` after the restored
    moment.

    Returns how many there are. The campaign's policy becomes `hold`: events about them may have come before
    the loss, so that their absence means nothing. Raises UsageError if the campaign is not paused. `identify`
    pauses it, or a person does where the loss cannot be noticed. Repeating it changes nothing.
    """
    sql = queries("lost_time")
    async with connection.transaction():
        await _require_paused(connection, campaign_id)
        await connection.execute(sql["hold"], campaign_id)
    ranges = [row["range_id"] for row in await connection.fetch(sql["ranges"], campaign_id, lost_s)]
    total = 0
    for first in range(0, len(ranges), RANGES_PER_TRANSACTION):
        part = ranges[first : first + RANGES_PER_TRANSACTION]
        async with connection.transaction():
            if in_doubt := await _doubt(connection, campaign_id, part):
                detail = {"recipients": in_doubt, "lost_s": lost_s}
                await connection.execute(
                    queries("campaigns")["audit"], actor, "lost-time", campaign_id, detail
                )
        total += in_doubt
    return total


async def _doubt(connection: Connection, campaign_id: int, ranges: list[int]) -> int:
    sql = queries("lost_time")
    await connection.execute(sql["lock_ranges"], ranges)
    await connection.execute(queries("facts")["lock_range_counters"], ranges)
    rows = await connection.fetch(sql["put_in_doubt"], ranges, LOST)
    await _require_paused(connection, campaign_id)  # a person may have resumed it meanwhile
    return sum(row["in_doubt"] for row in rows)


async def _require_paused(connection: Connection, campaign_id: int) -> None:
    state = await connection.fetchval(queries("lost_time")["state"], campaign_id)
    if state is None:
        raise LookupError(f"no campaign {campaign_id}")
    if state != CampaignState.PAUSED:
        raise UsageError(
            f"--lost is for a paused campaign, and this one is {state}",
            remedy="after a restore, `campaign pause` it first if Drumbeat has not",
        )
