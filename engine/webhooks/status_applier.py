"""Moves status events from the inbox to the recipients and the range counters, one transaction a batch.

Law: an event is deleted from the inbox in the transaction that folds it; the range counters of its ranges are
locked first, in range order, and change by exactly the difference of the recipients' states. A batch is
folded as sets: the plain recipients by primary key, the others through the view that says what a state is.
Events come in the groups that the receiver committed; those that match nothing yet go on one by one.
"""

from dataclasses import dataclass

import asyncpg

from engine.core.phone_aliases import spellings
from engine.store.database import Connection
from engine.store.queries import queries

BATCH_EVENTS_MAX = 10_000  # larger ones gain nothing and hold their locks longer
SINGLES_SHARE = 10  # a tenth of a batch at least, however many groups wait: neither kind starves the other
UNMATCHED_DAYS = 8  # the service repeats an event for up to 7 days
FIRST_WAIT_S = 2.0  # of an event that nobody matched; doubles, an hour at most
# Of an event with data that is no tag of ours: a minute, should somebody on the way have changed the tag. All
# the attempts of 8 days would cost the fold 5 ms an event, a neighbour's thousands of them too.
FOREIGN_ATTEMPTS_MAX = 5


@dataclass(frozen=True, slots=True)
class Folded:
    """What one batch did, counted in events. `returned` wait in the inbox for their match.

    `slow`: recipients that were looked up before and after. `dropped`: unmatched for too long, or
    another program's.
    """

    taken: int = 0
    returned: int = 0
    dropped: int = 0
    slow: int = 0

    @property
    def matched(self) -> int:
        return self.taken - self.returned - self.dropped


NOTHING = Folded()


async def fold_batch(connection: Connection, limit: int = BATCH_EVENTS_MAX) -> Folded:
    """Fold some `limit` events that are due, oldest first; taken 0 when none is, or another folder works.

    Groups are taken whole: it may be one of them and a tenth more. Repeating after a lost COMMIT is safe: the
    events are either folded and gone, or still there.
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
        done = await connection.fetchrow(sql["apply_plain"], due["tagged"], *bounds)
        assert done is not None
        slow = await _fold_others(connection) if done["others"] else 0
        returned, dropped = await _return_unmatched(connection) if slow or others else (0, 0)
    return Folded(done["taken"] + others, returned, dropped, slow)


async def _take_others(connection: Connection, due: asyncpg.Record, limit: int) -> int:
    """Take the events without our tag, those that wait alone, and find whose they are; returns how many."""
    singles = max(limit - due["events"], limit // SINGLES_SHARE, 1) if due["singles"] else 0
    taken: int = await connection.fetchval(queries("apply_statuses")["take_others"], due["others"], singles)
    await _match(connection)
    return taken


async def _match(connection: Connection) -> None:
    """Find the attempts of events without our tag: by wamid, else by number and recipient."""
    sql = queries("apply_statuses")
    await connection.execute(sql["match_wamids"])
    pairs = await connection.fetch(sql["unmatched_of_numbers_in_doubt"])
    spelled = [
        (row["phone_number_id"], row["recipient"], phone)
        for row in pairs
        for phone in spellings(row["recipient"])
    ]
    if spelled:
        await connection.execute(sql["match_pairs"], *map(list, zip(*spelled, strict=True)))


async def _fold_others(connection: Connection) -> int:
    """Write what the events say of recipients that are not plain; returns how many took the slow way."""
    sql = queries("apply_statuses")
    slow: int = await connection.fetchval(sql["apply_fresh"])
    if slow:
        for name in ("states_before", "record_looked_up", "settle_looked_up", "count_looked_up"):
            await connection.execute(sql[name])
    return slow


async def _return_unmatched(connection: Connection) -> tuple[int, int]:
    row = await connection.fetchrow(
        queries("apply_statuses")["return_unmatched"], UNMATCHED_DAYS, FIRST_WAIT_S, FOREIGN_ATTEMPTS_MAX
    )
    assert row is not None
    return row["returned"], row["unmatched"] - row["returned"]
