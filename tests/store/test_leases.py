"""One owner for each number: who may take over, how long the new one waits, and that no epoch comes twice."""

import asyncio
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from drumbeat.engine.core.pace.token_bucket import LIMIT_PER_S_MAX
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.identity import ProcessIdentity, is_proven_dead, this_process
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import (
    LEASE_S,
    Lease,
    NumberHeld,
    begin_wait,
    release_lease,
    renew_leases,
    stop,
    suspend,
    take_lease,
)
from tests.kit.waiting import until_blocked
from tests.sending.planted import FAST, SLOW, another_process, plant_numbers

ELSEWHERE = ProcessIdentity("far.example", "another boot", 1, 77, 1)


@pytest.fixture
async def connection(pool: Pool):
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80})
        yield connection


async def run_out(connection: Connection) -> None:
    await connection.execute("UPDATE numbers SET leased_until = now() - interval '1 ms'")


async def test_the_first_owner_waits_for_nobody(connection: Connection) -> None:
    lease = await take_lease(connection, SLOW, this_process())
    assert (lease.epoch, lease.wait_s) == (1, 0.0)


async def test_a_living_owner_keeps_its_number_and_is_named(connection: Connection) -> None:
    await take_lease(connection, SLOW, ELSEWHERE)
    with pytest.raises(NumberHeld, match=r"far\.example, process 77") as held:
        await take_lease(connection, SLOW, this_process())
    assert held.value.exit_code == 75
    assert await connection.fetchval("SELECT epoch FROM numbers") == 1, (
        "a refused taking-over changes nothing"
    )


async def test_even_the_same_process_does_not_own_a_number_twice(connection: Connection) -> None:
    await take_lease(connection, SLOW, this_process())
    with pytest.raises(NumberHeld):
        await take_lease(connection, SLOW, this_process())


async def test_after_a_lease_ran_out_permits_and_the_paces_second_are_waited_for(
    connection: Connection,
) -> None:
    await take_lease(connection, SLOW, ELSEWHERE)
    await run_out(connection)
    lease = await take_lease(connection, SLOW, this_process())
    assert (lease.epoch, lease.wait_s) == (2, 3.0)


async def test_after_a_clean_release_only_the_rest_of_the_paces_second(connection: Connection) -> None:
    await release_lease(connection, await take_lease(connection, SLOW, ELSEWHERE))
    lease = await take_lease(connection, SLOW, this_process())
    assert lease.epoch == 2
    assert 0 < lease.wait_s <= 1.0


async def test_a_second_after_a_clean_release_nothing_is_waited_for(connection: Connection) -> None:
    await release_lease(connection, await take_lease(connection, SLOW, ELSEWHERE))
    await connection.execute("UPDATE numbers SET leased_until = leased_until - interval '2 s'")
    assert (await take_lease(connection, SLOW, this_process())).wait_s == 0.0


async def taken_without_proof(connection: Connection, number: str) -> Lease:
    """A process that is now dead took the number from an owner whose lease expired and who may still live."""
    await take_lease(connection, number, ELSEWHERE)
    await run_out(connection)
    return await take_lease(connection, number, another_process())


async def test_the_wait_for_permits_begins_once_and_is_the_next_owners_too(connection: Connection) -> None:
    lease = await taken_without_proof(connection, SLOW)
    for wait_s in (3_600.0, 0.0):
        await begin_wait(connection, Lease(SLOW, lease.epoch, wait_s))
    assert (await take_lease(connection, SLOW, this_process())).wait_s > 3_000


async def test_an_end_that_is_proven_leaves_no_wait_for_permits(connection: Connection) -> None:
    await release_lease(connection, await take_lease(connection, SLOW, ELSEWHERE))
    for _ in range(2):
        await take_lease(connection, SLOW, another_process())
    assert (await take_lease(connection, SLOW, this_process())).wait_s == 1.0


async def test_no_other_owner_begins_the_wait_for_permits(connection: Connection) -> None:
    """Neither the wait of another number nor a former one. The whole wait starts when the ranges are fenced."""
    await plant_numbers(connection, **{FAST: 1_000})
    of_slow, of_fast = [await taken_without_proof(connection, number) for number in (SLOW, FAST)]
    await begin_wait(connection, Lease(SLOW, of_slow.epoch, 0.0))
    await begin_wait(connection, Lease(FAST, of_fast.epoch - 1, 0.0))
    assert [(await take_lease(connection, number, this_process())).wait_s for number in (SLOW, FAST)] == [
        1.0,
        3.0,
    ]


async def test_after_a_proven_death_the_lease_need_not_run_out(connection: Connection) -> None:
    await take_lease(connection, SLOW, another_process())
    lease = await take_lease(connection, SLOW, this_process())
    assert (lease.epoch, lease.wait_s) == (2, 1.0)


async def test_a_reused_pid_proves_that_the_owner_is_dead(connection: Connection) -> None:
    reused = another_process(pid=os.getpid(), started_ticks=this_process().started_ticks - 1)
    assert is_proven_dead(reused.stored())
    await take_lease(connection, SLOW, reused)
    assert (await take_lease(connection, SLOW, this_process())).wait_s == 1.0


def test_a_zombie_writes_no_more() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        with Path(f"/proc/{child.pid}/stat").open() as stat:
            started = int(stat.read().rpartition(")")[2].split()[19])
        identity = another_process(pid=child.pid, started_ticks=started).stored()
        assert not is_proven_dead(identity), "it runs"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet reaped
        assert is_proven_dead(identity)


@pytest.mark.parametrize(
    "unknowable",
    [
        None,
        {},
        another_process(boot="another boot").stored(),
        another_process(boot="").stored(),
        another_process(pid_namespace=1).stored(),
        another_process(pid_namespace=0).stored(),
        this_process().stored(),
    ],
)
def test_what_cannot_be_seen_from_here_is_not_proven_dead(unknowable: dict[str, object] | None) -> None:
    assert not is_proven_dead(unknowable)


async def test_an_epoch_never_comes_twice(connection: Connection) -> None:
    epochs = []
    for turn in range(6):
        lease = await take_lease(connection, SLOW, another_process() if turn % 2 else ELSEWHERE)
        epochs.append(lease.epoch)
        if turn % 2 == 0:
            await release_lease(connection, lease)
    assert epochs == [1, 2, 3, 4, 5, 6]


async def test_of_many_at_once_one_takes_the_number(pool: Pool, connection: Connection) -> None:
    async def try_to_take() -> int:
        async with pool.acquire() as other:
            try:
                return (await take_lease(other, SLOW, ELSEWHERE)).epoch
            except NumberHeld:
                return 0

    assert sorted(await asyncio.gather(*(try_to_take() for _ in range(6)))) == [0, 0, 0, 0, 0, 1]


async def test_a_renewal_returns_the_limit_and_the_rest_and_extends_the_lease(connection: Connection) -> None:
    lease = await take_lease(connection, SLOW, ELSEWHERE)
    await run_out(connection)
    await connection.execute("UPDATE numbers SET manual_limit_per_s = 7.5")
    await suspend(connection, SLOW, 60, "spam rate (131048)")
    [renewal] = await renew_leases(connection, [lease], [5.0])
    assert (renewal.phone_number_id, renewal.limit_per_s, renewal.suspended_reason) == (
        SLOW,
        7.5,
        "spam rate (131048)",
    )
    assert renewal.rests
    rest_s = await connection.fetchval(
        "SELECT extract(epoch FROM suspended_until - now())::float8 FROM numbers"
    )
    assert 50 < rest_s <= 60
    runs_s = await connection.fetchval("SELECT extract(epoch FROM leased_until - now())::float8 FROM numbers")
    assert LEASE_S - 1 < runs_s <= LEASE_S + 1


async def test_a_renewal_moves_no_lease_of_another(connection: Connection) -> None:
    await plant_numbers(connection, **{FAST: 1_000})
    ours, other = (
        await take_lease(connection, SLOW, this_process()),
        await take_lease(connection, FAST, ELSEWHERE),
    )
    await run_out(connection)
    assert ours.epoch == other.epoch
    assert [renewal.phone_number_id for renewal in await renew_leases(connection, [ours], [5.0])] == [SLOW]
    held = "SELECT phone_number_id FROM numbers WHERE leased_until > now()"
    assert await connection.fetchval(held) == SLOW, "the other's has run out"


async def test_a_renewal_says_when_the_number_must_be_read_from_the_service(connection: Connection) -> None:
    lease = await take_lease(connection, SLOW, this_process())
    await connection.execute("UPDATE numbers SET service_limit_per_s = NULL, synced_at = NULL")
    [renewal] = await renew_leases(connection, [lease], [5.0])
    assert (renewal.limit_per_s, renewal.outdated) == (80, True)
    await connection.execute("UPDATE numbers SET synced_at = now(), manual_limit_per_s = $1", LIMIT_PER_S_MAX)
    [renewal] = await renew_leases(connection, [lease], [5.0])
    assert (renewal.limit_per_s, renewal.outdated) == (LIMIT_PER_S_MAX, False), "as much as can be paced"


async def test_a_lost_lease_is_missing_from_the_renewal_and_its_release_changes_nothing(
    connection: Connection,
) -> None:
    lost = await take_lease(connection, SLOW, another_process())
    present = await take_lease(connection, SLOW, ELSEWHERE)
    assert await renew_leases(connection, [lost], [1.0]) == []
    await release_lease(connection, lost)
    with pytest.raises(NumberHeld):
        await take_lease(connection, SLOW, this_process())
    assert [renewal.phone_number_id for renewal in await renew_leases(connection, [present], [1.0])] == [SLOW]


async def test_an_unknown_number_says_what_to_do(connection: Connection) -> None:
    with pytest.raises(ConfigurationError, match="numbers sync"):
        await take_lease(connection, "404", this_process())


async def test_a_renewal_locks_its_numbers_in_their_order(connection: Connection, other: Connection) -> None:
    """In the order in which the limits of all numbers are stored. Two orders would deadlock."""
    await plant_numbers(connection, **{FAST: 1_000})
    first, last = sorted((SLOW, FAST))
    leases = [await take_lease(connection, number, this_process()) for number in (last, first)]
    # This plan finds the rows in table order, which is the wrong order. The lock must sort them.
    await connection.execute(
        "SET enable_seqscan = on; SET enable_indexscan = off; SET enable_bitmapscan = off"
    )
    rows = await connection.fetch("SELECT phone_number_id FROM numbers")
    assert [row["phone_number_id"] for row in rows] == [last, first]
    async with other.transaction():
        await other.execute("SELECT FROM numbers WHERE phone_number_id = $1 FOR UPDATE", first)
        renewing = asyncio.create_task(renew_leases(connection, leases, [1.0, 1.0]))
        await until_blocked(other, connection)
        await other.execute("SELECT FROM numbers WHERE phone_number_id = $1 FOR UPDATE NOWAIT", last)
    assert {renewal.phone_number_id for renewal in await renewing} == {first, last}


async def test_a_longer_rest_is_not_cut_short(connection: Connection) -> None:
    await suspend(connection, SLOW, 3_600, "quality")
    await suspend(connection, SLOW, 60, "asked to wait")
    row = await connection.fetchrow(
        "SELECT suspended_until > now() + interval '59 minutes' AS long, suspended_reason AS reason FROM numbers"
    )
    assert (row["long"], row["reason"]) == (True, "quality")
    await connection.execute("UPDATE numbers SET suspended_until = now() - interval '1 minute'")
    await suspend(connection, SLOW, 60, "asked to wait")
    row = await connection.fetchrow(
        "SELECT suspended_until > now() AS rests, suspended_reason AS reason FROM numbers"
    )
    assert (row["rests"], row["reason"]) == (True, "asked to wait")
    await suspend(connection, SLOW, 3_600, "quality")
    assert await connection.fetchval("SELECT suspended_reason FROM numbers") == "quality", (
        "the longer one counts"
    )


async def test_a_stop_is_ended_by_no_rest_and_no_time(connection: Connection) -> None:
    lease = await take_lease(connection, SLOW, ELSEWHERE)
    await suspend(connection, SLOW, 60, "spam")
    await stop(connection, SLOW, "blocked")
    await suspend(connection, SLOW, 1e9, "too fast")
    row = await connection.fetchrow("SELECT stopped, suspended_until, suspended_reason FROM numbers")
    assert row is not None
    assert tuple(row) == (True, None, "blocked")
    [renewal] = await renew_leases(connection, [lease], [5.0])
    assert (renewal.rests, renewal.suspended_reason) == (True, "blocked")


async def test_since_when_a_number_is_slowed_stands_until_it_is_not(connection: Connection) -> None:
    lease = await take_lease(connection, SLOW, this_process())

    async def since(*, slowed: bool) -> datetime | None:
        await renew_leases(connection, [lease], [40.0], [40.0], [slowed])
        found: datetime | None = await connection.fetchval("SELECT slowed_since FROM numbers")
        return found

    first = await since(slowed=True)
    assert first is not None and await since(slowed=True) == first
    assert await since(slowed=False) is None
    assert await since(slowed=True) != first
    await release_lease(connection, lease)
    assert await connection.fetchval("SELECT slowed_since FROM numbers") is None
