"""Who may have been sent to in the time that a restored database does not know.

Law: a recipient that the database shows as not yet sent may have got the message in that time. Once in doubt,
it is sent to again only if a person says so. Whom the numbers' limits left out of reach stays pending.
"""

from engine.core.states import CampaignState, ReasonCode
from engine.errors import UsageError
from engine.store.database import Connection
from engine.store.queries import queries

RANGES_PER_TRANSACTION = 100  # about 100,000 recipients at most: keeps locks short
LOST = "the database went back in time: it may have been sent to before"
# Longer than any backup is kept. The limits of all numbers then reach every recipient of any campaign.
LOST_S_MAX = 366 * 86_400


async def doubt_lost_time(connection: Connection, campaign_id: int, lost_s: float, actor: str) -> int:
    """Put in doubt whom the campaign may have sent to within `lost_s` after the restored moment.

    Returns how many recipients. The campaign's policy becomes `hold`: events about them may have come before
    the loss, so that their absence means nothing. Call it before the campaign is resumed; UsageError if it
    does not wait because its database went back in time. Repeating it changes nothing.
    """
    sql = queries("lost_time")
    async with connection.transaction():
        await _require_rolled_back(connection, campaign_id)
        await connection.execute(sql["hold"], campaign_id)
    ranges = [row["range_id"] for row in await connection.fetch(sql["ranges"], campaign_id, lost_s)]
    total = 0
    for first in range(0, len(ranges), RANGES_PER_TRANSACTION):
        total += await _doubt(connection, campaign_id, ranges[first : first + RANGES_PER_TRANSACTION])
    if total:
        detail = {"recipients": total, "lost_s": lost_s}
        await connection.execute(queries("campaigns")["audit"], actor, "lost-time", campaign_id, detail)
    return total


async def _doubt(connection: Connection, campaign_id: int, ranges: list[int]) -> int:
    sql = queries("lost_time")
    async with connection.transaction():
        await connection.execute(sql["lock_ranges"], ranges)
        await connection.execute(queries("facts")["lock_range_counters"], ranges)
        rows = await connection.fetch(sql["put_in_doubt"], ranges, LOST)
        await _require_rolled_back(connection, campaign_id)  # a person may have resumed it meanwhile
    return sum(row["in_doubt"] for row in rows)


async def _require_rolled_back(connection: Connection, campaign_id: int) -> None:
    row = await connection.fetchrow(queries("lost_time")["campaign"], campaign_id)
    if row is None:
        raise LookupError(f"no campaign {campaign_id}")
    if (row["state"], row["reason_code"]) != (CampaignState.PAUSED, ReasonCode.DATABASE_ROLLED_BACK):
        raise UsageError(
            "--lost is for a campaign that waits because its database was restored or failed over",
            remedy="`campaign settle` without --lost shows who is in doubt",
        )
