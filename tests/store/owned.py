"""Ranges that a number has taken, and what is recorded in them."""

from drumbeat.engine.store.claims import Candidate, advance_watermark
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import Lease, take_lease
from drumbeat.engine.store.ranges import HeldRange, take_range
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.retry_claims import due_retries
from tests.sending.planted import SLOW, Planted, another_process, plant_campaign


async def owned(connection: Connection, **campaign: object) -> tuple[Planted, Lease, HeldRange]:
    """A planted campaign, a number of a process that is dead by now, and the range that it took."""
    planted = await plant_campaign(connection, **campaign)  # type: ignore[arg-type]
    lease = await take_lease(connection, SLOW, another_process())
    held = await take_range(connection, lease, planted.campaign_id)
    assert held is not None
    return planted, lease, held


def fact(
    held: HeldRange, seq: int, kind: FactKind, attempt_no: int = 1, epoch: int = 1, wait_s: float = 0
) -> Fact:
    wamid = f"wamid.{seq}.{attempt_no}" if kind is FactKind.ACCEPTED else None
    return Fact(
        held.campaign_id, held.range_id, seq, attempt_no, epoch, SLOW, kind, wamid, reason="test", wait_s=wait_s
    )  # fmt: skip


async def holders(connection: Connection) -> dict[int, str | None]:
    rows = await connection.fetch("SELECT range_id, phone_number_id FROM ranges")
    return {row["range_id"]: row["phone_number_id"] for row in rows}


async def deferred(connection: Connection) -> tuple[Lease, HeldRange, list[Candidate]]:
    """A range as of `owned`, and its first recipient, who waits for another attempt."""
    _, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 1, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    return lease, held, await due_retries(connection, [held], 10)


async def two_ranges(connection: Connection, size: int = 2) -> tuple[Planted, Lease, HeldRange, HeldRange]:
    planted, lease, first = await owned(connection, recipients=2 * size, range_size=size)
    second = await take_range(connection, lease, planted.campaign_id)
    assert second is not None
    for held in (first, second):
        await advance_watermark(connection, lease, held, 2, [])
    return planted, lease, first, second
