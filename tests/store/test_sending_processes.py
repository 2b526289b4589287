"""Live workers as the database knows them, and the view by which they divide the numbers."""

from dataclasses import replace

import pytest

from drumbeat.engine.core.fair_share import SharedNumber
from drumbeat.engine.process.identity import ProcessIdentity, this_process
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import release_lease, take_lease
from drumbeat.engine.store.sending_processes import (
    IdleNumber,
    live_workers,
    note_end,
    note_live,
    process_key,
    read_sharing,
    remove_dead_processes,
)
from tests.sending.planted import FAST, SLOW, another_process, plant_numbers

OURS = this_process()
ELSEWHERE = ProcessIdentity("far.example", "another boot", 1, 77, 1)


@pytest.fixture
async def connection(pool: Pool):
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80, FAST: 1_000})
        yield connection


def key(process: ProcessIdentity) -> str:
    return process_key(process.stored())


async def shared(connection: Connection) -> dict[str, SharedNumber]:
    view = await read_sharing(connection, OURS)
    return {number.phone_number_id: number for number in view.numbers}


async def hide(connection: Connection, seconds: int) -> None:
    await connection.execute(
        "UPDATE sending_processes SET live_until = now() - make_interval(secs => $1)", float(seconds)
    )


async def test_a_worker_is_live_until_it_ends_or_is_silent_for_as_long_as_a_lease(
    connection: Connection,
) -> None:
    await note_live(connection, OURS, [SLOW], [])
    await note_live(connection, ELSEWHERE, [SLOW, FAST], [])
    assert (await read_sharing(connection, OURS)).wanted == {
        key(OURS): {SLOW},
        key(ELSEWHERE): {SLOW, FAST},
    }
    await note_end(connection, [ELSEWHERE.stored()])
    assert (await read_sharing(connection, OURS)).wanted.keys() == {key(OURS)}
    await hide(connection, 0)
    assert (await read_sharing(connection, OURS)).wanted == {}
    await note_live(connection, OURS, [SLOW], [])
    assert (await read_sharing(connection, OURS)).wanted.keys() == {key(OURS)}, "it lives again"


async def test_whoever_proves_a_death_tells_the_workers_of_other_machines(connection: Connection) -> None:
    await note_live(connection, another_process(), [SLOW], [])
    assert (await read_sharing(connection, OURS)).wanted == {}
    live = "SELECT count(*) FROM sending_processes WHERE live_until > clock_timestamp()"
    assert await connection.fetchval(live) == 0


async def test_numbers_are_owned_by_live_workers_or_free_or_soon_free(connection: Connection) -> None:
    await note_live(connection, ELSEWHERE, [SLOW, FAST], [])
    assert await shared(connection) == {
        SLOW: SharedNumber(SLOW, 80.0, None, True),
        FAST: SharedNumber(FAST, 1_000.0, None, True),
    }
    lease = await take_lease(connection, SLOW, ELSEWHERE)
    assert (await shared(connection))[SLOW] == SharedNumber(SLOW, 80.0, key(ELSEWHERE), False)
    await note_end(connection, [ELSEWHERE.stored()])
    assert (await shared(connection))[SLOW] == SharedNumber(SLOW, 80.0, None, False), "its lease still runs"
    await release_lease(connection, lease)
    assert (await shared(connection))[SLOW].free


@pytest.mark.parametrize("how", ["its lease ran out", "it is proven dead"])
async def test_the_number_of_an_owner_that_is_gone_is_free(connection: Connection, how: str) -> None:
    proven = how == "it is proven dead"
    await take_lease(connection, SLOW, another_process() if proven else ELSEWHERE)
    if not proven:
        assert SLOW not in await shared(connection)
        await connection.execute("UPDATE numbers SET leased_until = now() - interval '1 ms'")
    assert (await shared(connection))[SLOW].free


async def test_a_number_that_no_worker_has_is_not_divided(connection: Connection) -> None:
    """A `campaign run` has it."""
    await take_lease(connection, SLOW, ELSEWHERE)
    assert (await shared(connection)).keys() == {FAST}


async def test_the_limit_of_a_person_counts(connection: Connection) -> None:
    await connection.execute("UPDATE numbers SET manual_limit_per_s = 7")
    assert {number.limit_per_s for number in (await shared(connection)).values()} == {7.0}


async def test_idle_numbers_of_others_are_seen_with_their_rates(connection: Connection) -> None:
    await connection.execute("UPDATE numbers SET rate_per_s = 40")
    await note_live(connection, OURS, [SLOW, FAST], [SLOW])
    await note_live(connection, ELSEWHERE, [SLOW, FAST], [FAST])
    assert (await read_sharing(connection, OURS)).idle_elsewhere == [IdleNumber(FAST, 40.0)]
    await note_live(connection, ELSEWHERE, [SLOW, FAST], [])
    assert (await read_sharing(connection, OURS)).idle_elsewhere == []


async def test_rows_of_workers_that_ended_long_ago_are_removed(connection: Connection) -> None:
    for pid in range(3):
        await note_live(connection, replace(ELSEWHERE, pid=pid), [SLOW], [])
    await hide(connection, 61)
    await note_live(connection, OURS, [SLOW], [])
    await note_live(connection, ELSEWHERE, [SLOW], [])
    await note_end(connection, [ELSEWHERE.stored()])
    await remove_dead_processes(connection)
    rows = await connection.fetch("SELECT process FROM sending_processes")
    assert {key(ProcessIdentity(**row["process"])) for row in rows} == {key(OURS), key(ELSEWHERE)}, (
        "who ended a moment ago may still drain"
    )


async def test_live_workers_are_named_for_all_numbers_or_for_some(connection: Connection) -> None:
    await note_live(connection, OURS, [SLOW], [])
    await note_live(connection, ELSEWHERE, [FAST], [])
    await note_live(connection, another_process(), [SLOW], [])
    assert sorted(await live_workers(connection)) == sorted([OURS.name, ELSEWHERE.name])
    assert await live_workers(connection, [FAST, "7"]) == [ELSEWHERE.name]
    assert await live_workers(connection, ["7"]) == []
