"""Watermarks of several numbers, advanced in one statement: each is refused alone, and none delays another."""

import asyncio
from collections.abc import Sequence

import pytest

from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store.claims import WatermarkAdvance, advance_watermarks, read_watermark
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import release_ranges, take_over_ranges
from tests.sending.planted import take_one_each, up_to

NUMBERS = [f"60{index}" for index in range(4)]


def claims(advances: Sequence[WatermarkAdvance]) -> set[tuple[int, int]]:
    return {(claim.held.range_id, claim.lease.epoch) for claim in advances}


async def watermarks(connection: Connection) -> list[int]:
    return [
        row["claimed_through"]
        for row in await connection.fetch("SELECT claimed_through FROM ranges ORDER BY range_id")
    ]


async def test_watermarks_of_several_numbers_are_advanced_together(connection: Connection) -> None:
    owners = await take_one_each(connection, NUMBERS)
    advances = [await up_to(connection, lease, held, 3 + index) for index, (lease, held) in enumerate(owners)]
    assert await advance_watermarks(connection, advances) == claims(advances)
    assert await watermarks(connection) == [3, 4, 5, 6]
    assert await advance_watermarks(connection, []) == set()


@pytest.mark.parametrize(
    "wrong", ["claimed_through", "beyond", "number", "epoch", "closed", "opted out", "reached"]
)
async def test_a_refused_claim_delays_no_other(connection: Connection, wrong: str) -> None:
    owners = await take_one_each(connection, NUMBERS)
    advances = [await up_to(connection, lease, held, 5) for lease, held in owners]
    lease, held = owners[1]
    if wrong == "claimed_through":
        held.claimed_through = 1
    elif wrong == "beyond":
        advances[1] = advances[1]._replace(claimed_through=11)
    elif wrong == "number":
        advances[1] = advances[1]._replace(lease=owners[0][0])
    elif wrong == "epoch":
        successor = await take_lease(connection, lease.phone_number_id, this_process())
        await take_over_ranges(connection, successor)
    elif wrong == "closed":
        await connection.execute("UPDATE ranges SET state = 'closed' WHERE range_id = $1", held.range_id)
    elif wrong == "opted out":
        phone = advances[1].candidates[2].phone
        await connection.execute("INSERT INTO suppressions (phone, reason) VALUES ($1, 'test')", phone)
    else:
        await connection.execute(
            "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id)"
            " VALUES ($1, 5, 1, 1, 1, 1, $2)",
            held.range_id, lease.phone_number_id,
        )  # fmt: skip
    assert await advance_watermarks(connection, advances) == claims([*advances[:1], *advances[2:]])
    assert await watermarks(connection) == [5, 0, 5, 5]


async def test_a_locked_range_is_skipped_without_waiting(connection: Connection, other: Connection) -> None:
    owners = await take_one_each(connection, NUMBERS)
    advances = [await up_to(connection, lease, held, 5) for lease, held in owners]
    lease, held = owners[2]
    holding = other.transaction()
    await holding.start()
    assert await read_watermark(other, lease, held) == 0  # locks the row
    async with asyncio.timeout(20):
        advanced = await advance_watermarks(connection, advances)
    await holding.commit()
    assert advanced == claims([*advances[:2], advances[3]])
    assert await advance_watermarks(connection, [advances[2]]) == claims([advances[2]])


async def test_two_statements_at_once_advance_a_watermark_once(connection: Connection, pool: Pool) -> None:
    owners = await take_one_each(connection, NUMBERS)
    advances = [await up_to(connection, lease, held, 5) for lease, held in owners]

    async def advance_all() -> list[tuple[int, int]]:
        async with pool.acquire() as own:
            return list(await advance_watermarks(own, advances))

    advanced = [
        claim for batch in await asyncio.gather(*(advance_all() for _ in range(4))) for claim in batch
    ]
    assert len(advanced) == len(set(advanced)), "each is claimed by one of them"
    await advance_watermarks(connection, advances)
    assert await watermarks(connection) == [5, 5, 5, 5]


async def test_the_watermark_of_a_released_range_is_not_advanced(connection: Connection) -> None:
    owners = await take_one_each(connection, NUMBERS)
    advances = [await up_to(connection, lease, held, 5) for lease, held in owners]
    await release_ranges(connection, *owners[3][:1], [owners[3][1]])
    assert await advance_watermarks(connection, advances) == claims(advances[:3])


async def test_of_two_owners_of_a_range_only_the_present_one_claims(
    connection: Connection,
) -> None:
    """A process that was frozen may ask for its former epoch and for its new one in the same statement."""
    owners = await take_one_each(connection, NUMBERS)
    stale = await up_to(connection, *owners[0], 5)
    successor = await take_lease(connection, stale.lease.phone_number_id, this_process())
    [taken_over] = await take_over_ranges(connection, successor)
    present = WatermarkAdvance(successor, taken_over, 5, stale.candidates)
    for together in ([stale, present], [present, stale]):
        assert await advance_watermarks(connection, together) <= claims([present])
    assert (await watermarks(connection))[0] == 5
