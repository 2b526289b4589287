"""Closing a campaign's ranges when it is cancelled or expires: who was not sent to is skipped.

Source: rule on cancel and expiry. One transaction a batch closes ranges, which fixes their marks, and skips
what lies above and what is deferred; the tallies change by exactly that. What is under way keeps its course:
its outcome counts, and a later deferral of it is skipped where it is recorded.
"""

from collections import Counter

from engine.store.database import Connection
from engine.store.facts import change_tallies, states
from engine.store.queries import queries

# At most twenty thousand recipients: a fraction of a second, and senders wait for its locks that long.
RANGES_A_BATCH = 20


async def close_ranges(connection: Connection, campaign_id: int, reason: str) -> int:
    """Close every open range of a campaign; returns how many recipients were skipped.

    `reason` is the word that stands with each of them ("cancelled", "expired"). Safe to repeat: a call
    finishes what a killed one left. The campaign must have left `running` before, or claims go on meanwhile.
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
    ids, marks = [row["range_id"] for row in closed], [row["mark"] for row in closed]
    await connection.execute(queries("facts")["lock_tallies"], ids)
    unclaimed = await connection.fetch(sql["unclaimed"], ids, marks)
    changes = Counter({(row["range_id"], "skipped"): row["recipients"] for row in unclaimed})
    await _skip_deferred(connection, ids, changes)
    await change_tallies(connection, changes)
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
