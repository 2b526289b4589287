"""The end of a campaign: it finishes when nothing is left to send. If it is cancelled or expires, its ranges
close.

Closing skips recipients that were not sent to. Each transaction closes some ranges, which fixes their
watermarks, and skips the recipients above them and the deferred ones. The range counters change by exactly
that. Attempts under way continue: their outcomes count, and a deferral among them is skipped when it is
recorded.
"""

from collections import Counter

from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.store.campaign_states import apply_if_allowed
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.recording import change_range_counters, states

# Twenty thousand recipients at most. Senders wait for the locks of a transaction for a fraction of a second.
RANGES_A_BATCH = 20


async def finish_campaign(connection: Connection, campaign_id: int) -> int | None:
    """Finish a running campaign that has no open range. Return how many are in doubt; None if it continues.

    The decision is made under the campaign's lock. Whoever opens a range again takes that lock too.
    """
    async with connection.transaction():
        await connection.execute(queries("campaigns")["lock_state"], campaign_id)
        if await connection.fetchval(queries("closing")["has_open_ranges"], campaign_id):
            return None
        in_doubt: int = await connection.fetchval(queries("closing")["count_in_doubt"], campaign_id)
        reason, code = "", None
        if in_doubt:
            reason, code = f"{in_doubt} in doubt: see `campaign settle`", ReasonCode.IN_DOUBT
        ended = await apply_if_allowed(connection, campaign_id, CampaignEvent.FINISH, reason, code)
        return None if ended is None else in_doubt


async def close_ranges(connection: Connection, campaign_id: int, reason: str) -> int:
    """Close every open range of a campaign, and return how many recipients were skipped.

    `reason` is stored with each of them ("cancelled", "expired"). Safe to repeat: a call finishes the work of
    a killed one. The campaign must have left `running` before, or claims continue meanwhile.
    """
    skipped = 0
    while True:
        async with connection.transaction():
            closed, changes = await _close_batch(connection, campaign_id, reason)
        skipped += sum(change for (_, state), change in changes.items() if state == "skipped")
        if closed < RANGES_A_BATCH:
            return skipped


async def _close_batch(
    connection: Connection, campaign_id: int, reason: str
) -> tuple[int, Counter[tuple[int, str]]]:
    sql = queries("closing")
    closed = await connection.fetch(sql["close_ranges"], campaign_id, reason, RANGES_A_BATCH)
    ids, watermarks = [row["range_id"] for row in closed], [row["claimed_through"] for row in closed]
    await connection.execute(queries("facts")["lock_range_counters"], ids)
    unclaimed = await connection.fetch(sql["unclaimed"], ids, watermarks)
    changes = Counter({(row["range_id"], "skipped"): row["recipients"] for row in unclaimed})
    await _skip_deferred(connection, ids, changes)
    await change_range_counters(connection, changes)
    return len(closed), changes


async def _skip_deferred(connection: Connection, ids: list[int], changes: Counter[tuple[int, str]]) -> None:
    rows = await connection.fetch(queries("closing")["deferred"], ids)
    keys = [(row["range_id"], row["seq"]) for row in rows]
    if not keys:
        return
    changes.subtract(await states(connection, keys))
    columns = [row["range_id"] for row in rows], [row["seq"] for row in rows]
    await connection.execute(queries("facts")["skip_deferred_of_closed"], *columns)
    changes.update(await states(connection, keys))
