"""Attempts after the first: when they are due, and who may claim them."""

import asyncio

import pytest

from drumbeat.engine.core.retry import Budget
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store.claims import Candidate, advance_watermark
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import FactKind
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import release_ranges, take_over_ranges, take_range
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.retry_claims import (
    Postponed,
    claim_retries,
    due_retries,
    postpone_retries,
    unsent_claims,
)
from tests.kit.waiting import until_blocked
from tests.sending.planted import FAST, SLOW, assert_range_counters_hold, counts
from tests.store.owned import deferred, fact, owned, two_ranges

pytestmark = pytest.mark.usefixtures("two_numbers")


async def test_a_retry_is_due_in_its_time_the_longest_waiting_first(connection: Connection) -> None:
    _, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 10, [])
    await record(connection, [fact(held, 5, FactKind.DEFERRED)])
    later = [fact(held, 2, FactKind.DEFERRED), fact(held, 3, FactKind.DEFERRED, wait_s=60)]
    await record(connection, later)
    due = await due_retries(connection, [held], 10)
    assert [candidate.seq for candidate in due] == [5, 2]
    assert [retry.seq for retry in await due_retries(connection, [held], 1)] == [5]
    await postpone_retries(connection, [Postponed(due[0], 60.0, "pair rate")])
    assert [retry.seq for retry in await due_retries(connection, [held], 10)] == [2]
    await assert_range_counters_hold(connection)


async def test_a_retry_that_a_fact_is_about_just_now_is_not_waited_for(
    connection: Connection, other: Connection
) -> None:
    """Rows are locked without their range counters. Otherwise two transactions could wait for each other."""
    _, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 3, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2, 3)])
    due = await due_retries(connection, [held], 10)
    await connection.execute("SET lock_timeout = '1s'")
    async with other.transaction():
        await other.execute("SELECT FROM pending_attempts WHERE seq = 2 FOR UPDATE")
        await postpone_retries(connection, [Postponed(candidate, 60.0, "pair rate") for candidate in due])
    assert [retry.seq for retry in await due_retries(connection, [held], 10)] == [2], "and is held back again"


async def test_a_retry_carries_the_budget_that_earlier_attempts_used(connection: Connection) -> None:
    """Also if the claim's answer was lost. Otherwise a recipient would never run out of attempts."""
    _, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 1, [])
    spent = Budget(pair_throttles=1, transient_failures=2, unreachable=3)
    await record(connection, [fact(held, 1, FactKind.DEFERRED)._replace(spent=spent)])
    due = await due_retries(connection, [held], 10)
    await postpone_retries(connection, [Postponed(due[0], 0.0, "pair rate")])
    due = await due_retries(connection, [held], 10)
    await claim_retries(connection, lease, due, [])
    unsent = await unsent_claims(connection, lease, [held])
    assert [candidate.spent for candidate in (*due, *unsent)] == [spent, spent]


async def test_a_retry_that_the_guard_refuses_is_stored_with_the_claim_of_the_others(
    connection: Connection,
) -> None:
    planted, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 10, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2)])
    due: list[Candidate] = await due_retries(connection, [held], 10)
    granted = await claim_retries(connection, lease, due[:1], [fact(held, due[1].seq, FactKind.SKIPPED)])
    assert granted == {(held.range_id, due[0].seq): 2}
    assert granted == {(held.range_id, due[0].seq): 2}
    assert await counts(connection, planted.campaign_id) == {"pending": 9, "skipped": 1}
    await assert_range_counters_hold(connection)


async def test_a_retry_is_claimed_once_and_only_while_it_waits(connection: Connection) -> None:
    _, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 10, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    due = await due_retries(connection, [held], 10)
    assert await claim_retries(connection, lease, due, []) == {(held.range_id, 1): 2}
    assert await claim_retries(connection, lease, due, []) == {}
    await record(connection, [fact(held, 1, FactKind.DEFERRED, 2)])
    assert await claim_retries(connection, lease, due, []) == {}, "that was the try before"
    again = await due_retries(connection, [held], 10)
    await connection.execute("UPDATE pending_attempts SET state = 'unknown'")
    assert await claim_retries(connection, lease, again, []) == {}, (
        "who is in doubt waits for somebody's word"
    )


async def test_a_retry_is_the_number_that_claims_it(connection: Connection) -> None:
    """An event without a tag is matched to an attempt in doubt by that number."""
    planted, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 1, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    await release_ranges(connection, lease, [held])
    fast = await take_lease(connection, FAST, this_process())
    taken = await take_range(connection, fast, planted.campaign_id)
    assert taken is not None
    await claim_retries(connection, fast, await due_retries(connection, [taken], 10), [])
    assert await connection.fetchval("SELECT phone_number_id FROM pending_attempts") == FAST


async def test_a_retry_that_meets_a_takeover_is_refused(connection: Connection, other: Connection) -> None:
    """Its claim waits for the fence, and then reads the range again."""
    lease, held, due = await deferred(connection)
    successor = await take_lease(other, SLOW, this_process())
    async with other.transaction():
        await take_over_ranges(other, successor)
        claiming = asyncio.create_task(claim_retries(connection, lease, due, []))
        await until_blocked(other, connection)
    assert await claiming == {}
    assert await claim_retries(connection, successor, due, []) == {(held.range_id, 1): 2}


async def test_unsent_is_what_this_owner_claimed_and_nobody_wrote(connection: Connection) -> None:
    """A recipient in doubt would be sent to again without a decision."""
    _, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 4, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2, 3)])
    await record(connection, [fact(held, 4, FactKind.UNKNOWN)])
    due = {retry.seq: retry for retry in await due_retries(connection, [held], 10)}
    await claim_retries(connection, lease, [due[1], due[2]], [])
    await record(connection, [fact(held, 2, FactKind.UNKNOWN, 2)])
    [unsent] = await unsent_claims(connection, lease, [held])
    assert (unsent.seq, unsent.attempt_no, unsent.epoch, unsent.kind) == (
        1,
        2,
        lease.epoch,
        FactKind.DEFERRED,
    )
    successor = await take_lease(connection, SLOW, this_process())
    await take_over_ranges(connection, successor)
    await claim_retries(connection, successor, [due[3]], [])
    assert await unsent_claims(connection, lease, [held]) == [], "what is claimed now is its successor's"
    assert [claim.seq for claim in await unsent_claims(connection, successor, [held])] == [3]


async def test_a_retry_reports_recipients_who_opted_out_meanwhile(connection: Connection) -> None:
    planted, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 10, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2)])
    await connection.execute(
        "INSERT INTO suppressions (phone, reason) VALUES ($1, 'test')", planted.phones[1]
    )
    assert {retry.seq: retry.opted_out for retry in await due_retries(connection, [held], 10)} == {
        1: False,
        2: True,
    }


async def test_a_recipient_who_opts_out_after_the_lookup_is_granted_no_retry(connection: Connection) -> None:
    planted, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 10, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2)])
    due = await due_retries(connection, [held], 10)
    await connection.execute(
        "INSERT INTO suppressions (phone, reason) VALUES ($1, 'test')", planted.phones[1]
    )
    assert await claim_retries(connection, lease, due, []) == {(held.range_id, 1): 2}
    assert [(retry.seq, retry.opted_out) for retry in await due_retries(connection, [held], 10)] == [
        (2, True)
    ]


async def test_what_is_unsent_waits_for_a_claim_whose_answer_was_lost(
    connection: Connection, other: Connection
) -> None:
    """Otherwise no process would account for it: claimed by this one, and not among what it releases."""
    lease, held, due = await deferred(connection)
    async with other.transaction():
        assert await claim_retries(other, lease, due, []) == {(held.range_id, 1): 2}
        asked = asyncio.create_task(unsent_claims(connection, lease, [held]))
        await until_blocked(other, connection, asked)
    assert [(candidate.seq, candidate.attempt_no) for candidate in await asked] == [(1, 2)]


async def test_a_retry_is_claimed_in_its_own_range(connection: Connection) -> None:
    planted, lease, first, second = await two_ranges(connection)
    await record(
        connection, [fact(held, seq, FactKind.DEFERRED) for held in (first, second) for seq in (1, 2)]
    )
    due = {(retry.range_id, retry.seq): retry for retry in await due_retries(connection, [first, second], 10)}
    phones = [due[held.range_id, seq].phone for held in (first, second) for seq in (1, 2)]
    assert phones == planted.phones
    wanted = [due[first.range_id, 1], due[second.range_id, 2]]
    granted = await claim_retries(connection, lease, wanted, [])
    assert granted == {(first.range_id, 1): 2, (second.range_id, 2): 2}
    await assert_range_counters_hold(connection)
    await postpone_retries(connection, [Postponed(due[first.range_id, 2], 60.0, "pair rate")])
    left = await due_retries(connection, [first, second], 10)
    assert [(candidate.range_id, candidate.seq) for candidate in left] == [(second.range_id, 1)]
