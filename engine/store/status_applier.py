"""The application of status events to recipients and range counters, one transaction for each batch.

Law: an event is deleted from the inbox in the transaction that applies it. The range counters of its ranges
are locked first, in range order, and change by exactly the difference of the recipients' states. Most
recipients are updated by primary key. The others go the looked-up path: their state before and after is read
from the view that defines states. Events come in the groups that the receiver committed. An event that
matches no attempt yet goes back to the inbox by itself.
"""

from dataclasses import dataclass

import asyncpg

from drumbeat.engine.core.events.waits import FIRST_WAIT_S, UNMATCHED_DAYS
from drumbeat.engine.core.phone_digits import phones_named
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.status_stops import note_stops

BATCH_EVENTS_MAX = 10_000  # larger batches gain nothing and hold their locks longer
SINGLES_SHARE = 10  # at least a tenth of a batch for single events, so that neither kind starves the other
# An event with opaque data that is no tag of ours is matched for about a minute, in case something on the way
# changed the tag. Matching it for 8 days would cost 5 ms for each event of another program on the same
# number.
FOREIGN_MATCHES_MAX = 5


@dataclass(frozen=True, slots=True)
class AppliedBatch:
    """The results of one batch, counted in events. `returned` events matched nothing, and wait in the inbox
    again.

    `dropped` events matched nothing for too long, or are of another program. `looked_up` counts recipients on
    the looked-up path. `stops` counts the stops that the batch asks for.
    """

    taken: int = 0
    returned: int = 0
    dropped: int = 0
    looked_up: int = 0
    stops: int = 0

    @property
    def matched(self) -> int:
        return self.taken - self.returned - self.dropped


NOTHING = AppliedBatch()


async def apply_statuses(connection: Connection, limit: int = BATCH_EVENTS_MAX) -> AppliedBatch:
    """Apply about `limit` due events, oldest first. `taken` is 0 if none is due or another applier works.

    Groups are taken whole, so a batch may exceed `limit` by one group and a tenth. Repeating after a lost
    COMMIT is safe: the events are either applied and deleted, or still in the inbox.
    """
    sql = queries("apply_statuses")
    async with connection.transaction():
        begun = await connection.fetchrow(sql["begin"])
        if begun is None or not begun["alone"]:
            return NOTHING
        if not begun["has_workspace"]:
            await connection.execute(sql["create_workspace"])
        due = await connection.fetchrow(sql["due"], limit)
        assert due is not None
        if not (due["events"] or due["singles"]):
            return NOTHING
        others = await _take_others(connection, due, limit) if due["others"] or due["singles"] else 0
        bounds = await connection.fetchrow(sql["lock_range_counters"], due["range_ids"])
        assert bounds is not None
        if others:
            await connection.execute(sql["unmatch_settled_pairs"])
        stops = await note_stops(connection, due["tagged"], bounds) if due["failures"] or others else 0
        done = await connection.fetchrow(sql["apply_plain"], due["tagged"], *bounds)
        assert done is not None
        looked_up = await _apply_others(connection) if done["others"] else 0
        returned, dropped = await _return_unmatched(connection) if looked_up or others else (0, 0)
    return AppliedBatch(done["taken"] + others, returned, dropped, looked_up, stops)


async def _take_others(connection: Connection, due: asyncpg.Record, limit: int) -> int:
    """Take the events without our tag and the single ones, and match them to attempts. Return how many."""
    singles = max(limit - due["events"], limit // SINGLES_SHARE, 1) if due["singles"] else 0
    taken: int = await connection.fetchval(queries("apply_statuses")["take_others"], due["others"], singles)
    await _match(connection)
    return taken


async def _match(connection: Connection) -> None:
    """Match events without our tag: by wamid, otherwise by number and recipient."""
    sql = queries("apply_statuses")
    await connection.execute(sql["match_wamids"])
    pairs = await connection.fetch(sql["unmatched_of_numbers_in_doubt"])
    aliased = [
        (row["phone_number_id"], row["recipient"], phone)
        for row in pairs
        for phone in phones_named(row["recipient"])
    ]
    if aliased:
        await connection.execute(sql["match_pairs"], *map(list, zip(*aliased, strict=True)))


async def _apply_others(connection: Connection) -> int:
    """Apply the events of the other recipients. Return how many recipients took the looked-up path."""
    sql = queries("apply_statuses")
    looked_up: int = await connection.fetchval(sql["apply_fresh"])
    if looked_up:
        for name in (
            "states_before",
            "record_looked_up",
            "settle_looked_up",
            "count_looked_up",
            "note_looked_up",
        ):
            await connection.execute(sql[name])
    return looked_up


async def _return_unmatched(connection: Connection) -> tuple[int, int]:
    row = await connection.fetchrow(
        queries("apply_statuses")["return_unmatched"], UNMATCHED_DAYS, FIRST_WAIT_S, FOREIGN_MATCHES_MAX
    )
    assert row is not None
    return row["returned"], row["unmatched"] - row["returned"]
