"""The ranges that an owner holds: it takes over those of a former owner, takes free ones, and releases them.

Every statement compares the number and the epoch with the row that it changes. A range whose epoch was raised
is fenced: its former owner can claim nothing more in it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.leases import Lease, begin_wait
from drumbeat.engine.store.queries import queries


@dataclass(slots=True)
class HeldRange:
    """A range that this owner holds. First attempts of 1..`claimed_through` are claimed, of 1..`last_seq`.

    `time_zones` are those of its recipients, divided by commas. None: no rule is in the recipient's zone.
    """

    range_id: int
    campaign_id: int
    last_seq: int
    claimed_through: int
    state: str
    time_zones: str | None = None


async def take_over_ranges(connection: Connection, lease: Lease) -> list[HeldRange]:
    """Fence the ranges that a former owner of the number left, and return them.

    Claims of that owner without an outcome become in doubt, and are counted, in the same transaction.
    """
    ranges = await _fence(connection, lease)
    await begin_wait(connection, lease)
    return ranges


async def _fence(connection: Connection, lease: Lease) -> list[HeldRange]:
    sql = queries("ranges")
    async with connection.transaction():
        left = await connection.fetch(sql["ranges_of_former_owner"], lease.phone_number_id, lease.epoch)
        if not left:
            return []
        range_ids = [row["range_id"] for row in left]
        fenced = await connection.fetch(sql["fence"], range_ids, lease.epoch, lease.phone_number_id)
        await connection.execute(queries("facts")["lock_range_counters"], range_ids)
        first_attempts = await connection.fetch(
            sql["put_first_attempts_in_doubt"],
            range_ids,
            [row["epoch"] for row in left],
            lease.phone_number_id,
        )
        await connection.execute(sql["remove_retries_of_reached"], range_ids)
        retries = await connection.fetch(sql["put_retries_in_doubt"], range_ids)
        in_doubt = Counter(row["range_id"] for row in [*first_attempts, *retries])
        await connection.execute(sql["count_in_doubt"], list(in_doubt.keys()), list(in_doubt.values()))
        if in_doubt:
            await connection.execute(sql["wake_untagged_events"], lease.phone_number_id)
    return [HeldRange(**dict(row)) for row in fenced]


async def own_ranges(connection: Connection, lease: Lease) -> list[HeldRange]:
    """Return the ranges that this owner holds, including any that it took without getting the answer."""
    async with connection.transaction():
        # This waits for a `take_range` of a lost connection that may still be under way: its COMMIT may yet
        # arrive.
        await connection.execute(queries("ranges")["lock_number"], lease.phone_number_id)
        rows = await connection.fetch(queries("ranges")["own_ranges"], lease.phone_number_id, lease.epoch)
    return [HeldRange(**dict(row)) for row in rows]


async def take_range(connection: Connection, lease: Lease, campaign_id: int) -> HeldRange | None:
    """Take the next free range of a campaign. None if there is none, or if the number has a new owner."""
    row = await connection.fetchrow(
        queries("ranges")["take_range"], campaign_id, lease.phone_number_id, lease.epoch
    )
    return None if row is None else HeldRange(**dict(row))


async def release_idle_ranges(
    connection: Connection, lease: Lease, ranges: Sequence[HeldRange], soon_s: float
) -> set[int]:
    """Finish ranges with nothing left, and release those whose deferred recipients are not due soon.

    "Soon" is within `soon_s` seconds. Returns the ids of ranges that this owner no longer holds.
    """
    sql = queries("ranges")
    owner = (lease.phone_number_id, lease.epoch)
    rows = await connection.fetch(sql["perhaps_idle"], [held.range_id for held in ranges], *owner)
    if not rows:
        return set()
    perhaps_idle = [row["range_id"] for row in rows]
    async with connection.transaction():
        rows = await connection.fetch(sql["lock_ranges"], perhaps_idle, *owner)
        ours = [row["range_id"] for row in rows]
        await connection.execute(queries("facts")["lock_range_counters"], ours)
        kept = set(ours)
        for row in await connection.fetch(sql["finish_ranges"], ours):
            kept.remove(row["range_id"])
        if kept:
            for row in await connection.fetch(sql["release_until_due"], list(kept), soon_s):
                kept.remove(row["range_id"])
    return set(perhaps_idle) - kept


async def put_off(
    connection: Connection, lease: Lease, held: HeldRange, due_at: datetime, reason: str
) -> bool:
    """Release a range whose time zones forbid sending until `due_at`. The campaign's free ranges of the same
    zones wait too.

    Returns False if a message is under way in the range; then it stays.
    """
    sql = queries("guards")
    async with connection.transaction():
        released = await connection.fetchval(
            sql["put_off_held"], held.range_id, lease.phone_number_id, lease.epoch, due_at, reason
        )
        await connection.execute(sql["put_off_free"], held.campaign_id, held.time_zones, due_at, reason)
    return released is not None


async def release_ranges(connection: Connection, lease: Lease, ranges: Sequence[HeldRange]) -> None:
    """Release ranges for other numbers. Call it only when nothing is under way in them.

    A range with a claim that has no outcome stays with the number: its next owner puts it in doubt.
    """
    range_ids = sorted(held.range_id for held in ranges)
    owner = (lease.phone_number_id, lease.epoch)
    async with connection.transaction():
        await connection.execute(queries("ranges")["lock_ranges"], range_ids, *owner)
        await connection.execute(queries("ranges")["release_ranges"], range_ids, *owner)
