"""The store under races of owners, lost answers, late facts and cancelled campaigns, on real connections."""

import asyncio

import pytest

from drumbeat.engine.core.lease import CLAIM_VALID_S, PACE_WINDOW_S
from drumbeat.engine.process.identity import ProcessIdentity, this_process
from drumbeat.engine.store import claims, ranges, retry_claims
from drumbeat.engine.store.claims import Candidate, ClaimRefused
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import LOST_CONNECTION, Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import Lease, release_lease, take_lease
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.ranges import HeldRange
from drumbeat.engine.store.recording import record
from tests.kit.planted import FIRST_RANGE, NUMBER, plant_campaign, range_counters, recount, state_of

FORMER = Lease(NUMBER, 1, 0.0)
# No such machine: its death can never be proven here.
ELSEWHERE = ProcessIdentity("elsewhere", "another boot", 1, 1, 1)


def held(claimed_through: int, campaign_id: int = 1, last_seq: int = 10) -> HeldRange:
    return HeldRange(FIRST_RANGE, campaign_id, last_seq, claimed_through, "open")


def fact(campaign: int, seq: int, kind: FactKind, *, attempt_no: int = 1, epoch: int = 1) -> Fact:
    wamid = f"wamid.{seq}.{attempt_no}" if kind is FactKind.ACCEPTED else None
    return Fact(campaign, FIRST_RANGE, seq, attempt_no, epoch, NUMBER, kind, wamid, reason="for a test")


async def next_owner(connection: Connection) -> Lease:
    epoch = await connection.fetchval(
        "UPDATE numbers SET epoch = epoch + 1 WHERE phone_number_id = $1 RETURNING epoch", NUMBER
    )
    return Lease(NUMBER, epoch, 0.0)


async def blocked(connection: Connection, by: Connection) -> None:
    """Return when `by` waits for a lock; a state is awaited, not a time."""
    pid = by.get_server_pid()
    query = "SELECT cardinality(pg_blocking_pids($1)) > 0"
    async with asyncio.timeout(30):
        while not await connection.fetchval(query, pid):
            await asyncio.sleep(0.005)


async def consistent(connection: Connection) -> None:
    assert await range_counters(connection) == await recount(connection)


async def test_a_new_owner_waits_for_a_claim_under_way_and_puts_it_in_doubt(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    campaign = await plant_campaign(connection, claimed_through=3)
    owner = await next_owner(connection)
    transaction = other.transaction()
    await transaction.start()
    await claims.advance_watermark(other, FORMER, held(3), 6, [])
    taking_over = asyncio.create_task(ranges.take_over_ranges(connection, owner))
    async with pool.acquire() as watcher:
        await blocked(watcher, connection)
    await transaction.commit()
    assert [taken_over.claimed_through for taken_over in await taking_over] == [6]
    assert [await state_of(connection, seq) for seq in (6, 7)] == ["unknown", "pending"]
    await consistent(connection)
    with pytest.raises(ClaimRefused):
        await claims.advance_watermark(other, FORMER, held(6, campaign), 9, [])


async def test_attempts_in_doubt_are_counted_once_however_often_a_takeover_is_repeated(
    connection: Connection,
) -> None:
    await plant_campaign(connection, claimed_through=4)
    for _ in range(3):
        await ranges.take_over_ranges(connection, await next_owner(connection))
        await consistent(connection)
    assert (await range_counters(connection))[FIRST_RANGE]["unknown"] == 4


async def test_a_late_outcome_of_a_former_epoch_settles_its_attempt_in_doubt(connection: Connection) -> None:
    campaign = await plant_campaign(connection, claimed_through=3)
    await ranges.take_over_ranges(connection, await next_owner(connection))
    await record(connection, [fact(campaign, 1, FactKind.ACCEPTED), fact(campaign, 2, FactKind.FAILED)])
    await record(connection, [fact(campaign, 3, FactKind.DEFERRED)])
    assert [await state_of(connection, seq) for seq in (1, 2, 3)] == ["accepted", "failed", "deferred"]
    await consistent(connection)


async def test_a_fence_and_results_of_the_old_epoch_agree_in_either_order(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    campaign = await plant_campaign(connection, claimed_through=2)
    owner = await next_owner(connection)
    transaction = other.transaction()
    await transaction.start()
    await record(other, [fact(campaign, 1, FactKind.ACCEPTED)])
    taking_over = asyncio.create_task(ranges.take_over_ranges(connection, owner))
    async with pool.acquire() as watcher:
        await blocked(watcher, connection)
    await transaction.commit()
    await taking_over
    assert [await state_of(connection, seq) for seq in (1, 2)] == ["accepted", "unknown"]
    await consistent(connection)


async def test_a_claimed_retry_of_a_former_epoch_is_put_in_doubt_and_its_claim_is_fenced(
    connection: Connection,
) -> None:
    campaign = await plant_campaign(connection, claimed_through=10)
    await record(connection, [fact(campaign, seq, FactKind.DEFERRED) for seq in (1, 2)])
    due = await retry_claims.due_retries(connection, [held(10, campaign)], 10)
    granted = await retry_claims.claim_retries(connection, FORMER, due[:1], [])
    assert list(granted.values()) == [2]
    await ranges.take_over_ranges(connection, await next_owner(connection))
    await consistent(connection)
    assert await state_of(connection, due[0].seq) == "unknown"
    assert await retry_claims.claim_retries(connection, FORMER, due[1:], []) == {}
    assert await state_of(connection, due[1].seq) == "deferred"


async def test_a_retry_is_granted_once(connection: Connection) -> None:
    campaign = await plant_campaign(connection, claimed_through=10)
    await record(connection, [fact(campaign, 1, FactKind.DEFERRED)])
    due = await retry_claims.due_retries(connection, [held(10, campaign)], 10)
    assert len(await retry_claims.claim_retries(connection, FORMER, due, [])) == 1
    assert await retry_claims.claim_retries(connection, FORMER, due, []) == {}
    await consistent(connection)


@pytest.mark.parametrize("kind", list(FactKind))
async def test_a_replayed_batch_changes_nothing(connection: Connection, kind: FactKind) -> None:
    campaign = await plant_campaign(connection, claimed_through=10)
    for _ in range(2):
        await record(connection, [fact(campaign, 1, kind)])
        await consistent(connection)
    assert sum((await range_counters(connection))[FIRST_RANGE].values()) == 1


async def test_a_batch_repeated_during_its_first_recording_waits_and_changes_nothing(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    """Its connection is gone, but its transaction is not. A refusal here would put accepted recipients in doubt."""
    campaign = await plant_campaign(connection, claimed_through=10)
    batch = [fact(campaign, seq, FactKind.ACCEPTED) for seq in (1, 2, 3)]
    async with other.transaction():
        await record(other, batch)
        replaying = asyncio.create_task(record(connection, batch))
        async with pool.acquire() as watcher:
            await blocked(watcher, connection)
    await replaying
    assert (await range_counters(connection))[FIRST_RANGE] == {"accepted": 3}
    await consistent(connection)


async def test_a_replayed_deferral_does_not_undo_the_retry_that_followed(connection: Connection) -> None:
    campaign = await plant_campaign(connection, claimed_through=10)
    first = fact(campaign, 1, FactKind.DEFERRED)
    await record(connection, [first])
    due = await retry_claims.due_retries(connection, [held(10, campaign)], 10)
    await retry_claims.claim_retries(connection, FORMER, due, [])
    await record(connection, [first])
    assert await state_of(connection, 1) == "pending"
    await record(connection, [fact(campaign, 1, FactKind.ACCEPTED, attempt_no=2)])
    await record(connection, [first])
    assert await state_of(connection, 1) == "accepted"
    await consistent(connection)


async def test_a_backend_that_is_killed_during_a_claim_leaves_the_watermark(
    connection: Connection, other: Connection
) -> None:
    campaign = await plant_campaign(connection, claimed_through=3)
    with pytest.raises(LOST_CONNECTION):
        async with other.transaction():
            await claims.advance_watermark(
                other, FORMER, held(3), 6, [fact(campaign, 5, FactKind.DEFERRED, attempt_no=0)]
            )
            await connection.execute("SELECT pg_terminate_backend($1)", other.get_server_pid())
            await other.execute("SELECT 1")
    assert await claims.read_watermark(connection, FORMER, held(3)) == 3
    assert (await range_counters(connection))[FIRST_RANGE]["deferred"] == 0


async def test_the_watermark_is_read_only_after_a_lost_transaction_has_ended(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    await plant_campaign(connection, claimed_through=3)
    transaction = other.transaction()
    await transaction.start()
    await claims.advance_watermark(other, FORMER, held(3), 6, [])
    reading = asyncio.create_task(claims.read_watermark(connection, FORMER, held(3)))
    async with pool.acquire() as watcher:
        await blocked(watcher, connection)
    await transaction.commit()
    assert await reading == 6


async def test_a_range_with_a_first_claim_without_an_outcome_is_not_released(connection: Connection) -> None:
    campaign = await plant_campaign(connection, claimed_through=2)
    await record(connection, [fact(campaign, 1, FactKind.ACCEPTED)])
    await ranges.release_ranges(connection, FORMER, [held(2, campaign)])
    owner = await next_owner(connection)
    assert len(await ranges.take_over_ranges(connection, owner)) == 1
    assert await state_of(connection, 2) == "unknown"
    await ranges.release_ranges(connection, owner, [held(2, campaign)])
    assert await connection.fetchval("SELECT phone_number_id FROM ranges") is None


async def test_a_range_with_a_retry_without_an_outcome_is_not_released(
    connection: Connection,
) -> None:
    campaign = await plant_campaign(connection, claimed_through=1)
    await record(connection, [fact(campaign, 1, FactKind.DEFERRED)])
    due = await retry_claims.due_retries(connection, [held(1, campaign)], 10)
    await retry_claims.claim_retries(connection, FORMER, due, [])
    await ranges.release_ranges(connection, FORMER, [held(1, campaign)])
    assert len(await ranges.take_over_ranges(connection, await next_owner(connection))) == 1
    assert await state_of(connection, 1) == "unknown"


async def finished(connection: Connection) -> tuple[int, Lease]:
    """A campaign that the second owner finished while the first still holds one of its recipients."""
    campaign = await plant_campaign(connection, recipients=2, claimed_through=2)
    await record(connection, [fact(campaign, 1, FactKind.ACCEPTED)])
    owner = await next_owner(connection)
    taken_over = await ranges.take_over_ranges(connection, owner)
    assert await ranges.release_idle_ranges(connection, owner, taken_over, 10.0) == {FIRST_RANGE}
    await connection.execute("UPDATE campaigns SET state = 'finished' WHERE campaign_id = $1", campaign)
    return campaign, owner


async def test_a_late_deferral_opens_a_finished_range_and_campaign_again(connection: Connection) -> None:
    campaign, owner = await finished(connection)
    await record(connection, [fact(campaign, 2, FactKind.DEFERRED)])
    assert await state_of(connection, 2) == "deferred"
    assert await connection.fetchval("SELECT state FROM campaigns") == "running"
    taken = await ranges.take_range(connection, owner, campaign)
    assert taken is not None
    assert [retry.seq for retry in await retry_claims.due_retries(connection, [taken], 10)] == [2]
    await consistent(connection)


async def test_other_late_facts_leave_a_finished_range_alone(connection: Connection) -> None:
    campaign, _ = await finished(connection)
    await record(connection, [fact(campaign, 2, FactKind.ACCEPTED), fact(campaign, 1, FactKind.DEFERRED)])
    assert await connection.fetchval("SELECT state FROM ranges") == "done"
    assert await connection.fetchval("SELECT state FROM campaigns") == "finished"
    await consistent(connection)


async def test_a_claim_of_retries_waits_for_outcomes_that_are_being_recorded(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    """A transaction that locked recipients before range counters would deadlock with a recording."""
    campaign = await plant_campaign(connection)
    await record(connection, [fact(campaign, seq, FactKind.DEFERRED) for seq in (1, 2)])
    due = await retry_claims.due_retries(connection, [held(10, campaign)], 10)
    async with connection.transaction():
        await connection.execute(queries("facts")["lock_range_counters"], [FIRST_RANGE])
        claiming = asyncio.create_task(retry_claims.claim_retries(other, FORMER, due, []))
        async with pool.acquire() as watcher:
            await blocked(watcher, by=other)
        await record(connection, [fact(campaign, 1, FactKind.ACCEPTED)])
    assert await claiming == {(FIRST_RANGE, 2): 2}
    await consistent(connection)


async def test_a_range_is_not_finished_beside_a_deferral_that_is_being_recorded(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    campaign = await plant_campaign(connection, recipients=1, claimed_through=1)
    owner = await next_owner(connection)
    taken_over = await ranges.take_over_ranges(connection, owner)
    transaction = other.transaction()
    await transaction.start()
    await record(other, [fact(campaign, 1, FactKind.DEFERRED)])
    releasing = asyncio.create_task(ranges.release_idle_ranges(connection, owner, taken_over, 10.0))
    async with pool.acquire() as watcher:
        await blocked(watcher, connection)
    await transaction.commit()
    assert await releasing == set()
    assert await connection.fetchval("SELECT state FROM ranges") == "open"


async def test_a_deferral_that_meets_a_cancel_is_skipped_in_either_order(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    campaign = await plant_campaign(connection, claimed_through=4)
    transaction = other.transaction()
    await transaction.start()
    await record(other, [fact(campaign, 1, FactKind.DEFERRED)])
    closing = asyncio.create_task(close_ranges(connection, campaign, "cancelled"))
    async with pool.acquire() as watcher:
        await blocked(watcher, connection)
    await transaction.commit()
    assert await closing == 7
    await record(connection, [fact(campaign, 2, FactKind.DEFERRED), fact(campaign, 3, FactKind.ACCEPTED)])
    states = [await state_of(connection, seq) for seq in range(1, 6)]
    assert states == ["skipped", "skipped", "accepted", "pending", "skipped"]
    await consistent(connection)


async def test_a_cancel_ends_every_claim(connection: Connection) -> None:
    campaign = await plant_campaign(connection, claimed_through=4)
    await record(connection, [fact(campaign, 1, FactKind.DEFERRED)])
    waiting = [Candidate(campaign, FIRST_RANGE, 1, 5511900000001, [], False, 1)]
    await close_ranges(connection, campaign, "cancelled")
    assert await retry_claims.claim_retries(connection, FORMER, waiting, []) == {}
    with pytest.raises(ClaimRefused):
        await claims.advance_watermark(connection, FORMER, held(4), 5, [])
    assert await ranges.take_range(connection, FORMER, campaign) is None
    await consistent(connection)


async def run_out(connection: Connection) -> None:
    await connection.execute("UPDATE numbers SET leased_until = now() - interval '1 second'")


async def test_a_release_inside_the_wait_leaves_the_rest_of_it_to_the_next_owner(
    connection: Connection,
) -> None:
    await plant_campaign(connection)
    await take_lease(connection, NUMBER, ELSEWHERE)
    await run_out(connection)
    second = await take_lease(connection, NUMBER, this_process())
    assert second.wait_s == CLAIM_VALID_S + PACE_WINDOW_S
    await release_lease(connection, second)
    third = await take_lease(connection, NUMBER, this_process())
    assert CLAIM_VALID_S < third.wait_s <= CLAIM_VALID_S + PACE_WINDOW_S


async def test_a_death_inside_the_wait_leaves_the_rest_of_it_to_the_next_owner(
    connection: Connection,
) -> None:
    await plant_campaign(connection)
    await take_lease(connection, NUMBER, ELSEWHERE)
    await run_out(connection)
    me = this_process()
    dead = ProcessIdentity(me.host, me.boot, me.pid_namespace, me.pid, me.started_ticks + 1)
    await take_lease(connection, NUMBER, dead)
    third = await take_lease(connection, NUMBER, me)
    assert CLAIM_VALID_S < third.wait_s <= CLAIM_VALID_S + PACE_WINDOW_S


async def test_a_number_whose_ranges_nobody_fenced_keeps_the_full_wait(connection: Connection) -> None:
    await plant_campaign(connection)
    await take_lease(connection, NUMBER, ELSEWHERE)
    await run_out(connection)
    me = this_process()
    dead = ProcessIdentity(me.host, me.boot, me.pid_namespace, me.pid, me.started_ticks + 1)
    await take_lease(connection, NUMBER, dead)
    assert (await take_lease(connection, NUMBER, dead)).wait_s == CLAIM_VALID_S + PACE_WINDOW_S
    await ranges.take_over_ranges(connection, await take_lease(connection, NUMBER, dead))
    await connection.execute("UPDATE numbers SET no_send_before = no_send_before - interval '1 minute'")
    assert (await take_lease(connection, NUMBER, me)).wait_s == PACE_WINDOW_S


async def test_two_takers_get_two_epochs_or_one_is_refused(connection: Connection, other: Connection) -> None:
    await plant_campaign(connection)
    results = await asyncio.gather(
        take_lease(connection, NUMBER, ELSEWHERE),
        take_lease(other, NUMBER, ELSEWHERE),
        return_exceptions=True,
    )
    assert sum(isinstance(result, Lease) for result in results) == 1


async def test_two_numbers_never_take_the_same_range(connection: Connection, other: Connection) -> None:
    campaign = await plant_campaign(connection, ranges=2, claimed_through=0)
    await connection.execute("UPDATE ranges SET phone_number_id = NULL")
    await connection.execute("INSERT INTO numbers (phone_number_id, epoch) VALUES ('2', 1)")
    taken = await asyncio.gather(
        ranges.take_range(connection, FORMER, campaign),
        ranges.take_range(other, Lease("2", 1, 0.0), campaign),
    )
    assert len({taken_range.range_id for taken_range in taken if taken_range is not None}) == 2


async def test_an_owner_that_lost_its_number_takes_no_range(connection: Connection) -> None:
    campaign = await plant_campaign(connection, claimed_through=0)
    await connection.execute("UPDATE ranges SET phone_number_id = NULL")
    await next_owner(connection)
    assert await ranges.take_range(connection, FORMER, campaign) is None


async def test_a_terminated_connection_is_one_that_is_worth_repeating(
    connection: Connection, other: Connection
) -> None:
    await connection.execute("SELECT pg_terminate_backend($1)", other.get_server_pid())
    with pytest.raises(LOST_CONNECTION):
        await other.execute("SELECT 1")
