"""Finishing and releasing ranges: no recipient is left in a range that nobody holds."""

import asyncio

import pytest

from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignEvent
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.claims import advance_watermark
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import FactKind
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import release_idle_ranges, release_ranges, take_over_ranges, take_range
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.retry_claims import claim_retries, due_retries
from tests.kit.waiting import until_blocked
from tests.sending.planted import FAST, SLOW, another_process, assert_range_counters_hold, counts
from tests.store.owned import deferred, fact, holders, owned, two_ranges

pytestmark = pytest.mark.usefixtures("two_numbers")


async def test_only_a_range_with_nothing_left_is_finished(connection: Connection) -> None:
    _, lease, held = await owned(connection, recipients=2)
    await advance_watermark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED)])
    assert await release_idle_ranges(connection, lease, [held], 10) == set(), "one is under way"
    await record(connection, [fact(held, 2, FactKind.UNKNOWN)])
    assert await release_idle_ranges(connection, lease, [held], 10) == {held.range_id}
    row = await connection.fetchrow("SELECT state, phone_number_id FROM ranges")
    assert row is not None and tuple(row) == ("done", None)


async def test_a_closed_range_is_released_and_stays_closed(connection: Connection) -> None:
    """If it were done, its recipients above the watermark would wait for ever."""
    planted, lease, held = await owned(connection, recipients=2)
    await advance_watermark(connection, lease, held, 1, [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED)])
    await close_ranges(connection, planted.campaign_id, "cancelled")
    assert await release_idle_ranges(connection, lease, [held], 10) == {held.range_id}
    assert await connection.fetchval("SELECT state FROM ranges WHERE phone_number_id IS NULL") == "closed"
    await assert_range_counters_hold(connection)


@pytest.mark.parametrize("last", [FactKind.SKIPPED, FactKind.DEFERRED])
async def test_a_range_ends_whatever_became_of_its_recipients(connection: Connection, last: FactKind) -> None:
    """With a recipient who waits an hour it is released until then; without one it is done."""
    planted, lease, held = await owned(connection, recipients=7)
    await advance_watermark(connection, lease, held, 7, [])
    facts = [fact(held, seq, FactKind.ACCEPTED) for seq in (1, 2, 3, 4)]
    facts += [
        fact(held, 5, FactKind.FAILED),
        fact(held, 6, FactKind.UNKNOWN),
        fact(held, 7, last, wait_s=3_600),
    ]
    await record(connection, facts)
    await connection.execute("UPDATE outcomes SET status = seq WHERE seq IN (2, 4)")  # sent and delivered
    await connection.execute("UPDATE outcomes SET status = 5 WHERE seq = 3")  # read
    await connection.execute("UPDATE range_counters SET accepted = 1, sent = 1, delivered = 1, read = 1")
    await assert_range_counters_hold(connection)
    assert len(await counts(connection, planted.campaign_id)) == 7
    assert await release_idle_ranges(connection, lease, [held], 10) == {held.range_id}


async def test_a_range_that_is_not_done_is_checked_without_a_lock(
    connection: Connection, other: Connection
) -> None:
    """Outcomes that are being stored lock the range counters; a check every half second must not wait for them."""
    _, lease, held = await owned(connection, recipients=2)
    await advance_watermark(connection, lease, held, 2, [])
    async with other.transaction():
        await other.execute("SELECT FROM range_counters WHERE range_id = $1 FOR UPDATE", held.range_id)
        async with asyncio.timeout(10):
            assert await release_idle_ranges(connection, lease, [held], 10) == set()


async def test_a_range_that_was_lost_is_released(connection: Connection) -> None:
    _, lease, held = await owned(connection, recipients=2)
    await take_over_ranges(connection, await take_lease(connection, SLOW, another_process()))
    assert await release_idle_ranges(connection, lease, [held], 10) == {held.range_id}


async def test_a_range_is_released_until_its_first_deferred_is_due(connection: Connection) -> None:
    planted, lease, held = await owned(connection, recipients=3)
    await advance_watermark(connection, lease, held, 3, [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED), fact(held, 2, FactKind.DEFERRED, wait_s=60)])
    assert await release_idle_ranges(connection, lease, [held], 10) == set(), "one is under way"
    await record(connection, [fact(held, 3, FactKind.DEFERRED, wait_s=5)])
    assert await release_idle_ranges(connection, lease, [held], 10) == set(), "one is due soon"
    assert await release_idle_ranges(connection, lease, [held], 1) == {held.range_id}
    assert await take_range(connection, lease, planted.campaign_id) is None, "nothing to do in it yet"
    waits_s = await connection.fetchval("SELECT extract(epoch FROM due_at - now())::float8 FROM ranges")
    assert 0 < waits_s <= 5
    await connection.execute("UPDATE ranges SET due_at = now()")
    again = await take_range(connection, lease, planted.campaign_id)
    assert again is not None and again.claimed_through == 3


async def test_a_released_range_is_free_at_once_or_when_its_deferred_are_due(
    connection: Connection,
) -> None:
    planted, lease, first = await owned(connection, recipients=4, range_size=2)
    second = await take_range(connection, lease, planted.campaign_id)
    assert second is not None
    for held, claimed_through in ((first, 1), (second, 2)):
        await advance_watermark(connection, lease, held, claimed_through, [])
    deferred = [fact(second, 1, FactKind.DEFERRED, wait_s=60), fact(second, 2, FactKind.DEFERRED, wait_s=90)]
    await record(connection, [fact(first, 1, FactKind.DEFERRED, wait_s=60), *deferred])
    await release_ranges(connection, lease, [first, second])
    assert set((await holders(connection)).values()) == {None}
    waits_s = await connection.fetchval(
        "SELECT extract(epoch FROM due_at - now())::float8 FROM ranges WHERE range_id = $1", second.range_id
    )
    assert 50 < waits_s <= 60
    fast = await take_lease(connection, FAST, this_process())
    taken = await take_range(connection, fast, planted.campaign_id)
    assert taken is not None and (taken.range_id, taken.claimed_through) == (first.range_id, 1)
    assert await take_range(connection, fast, planted.campaign_id) is None


async def test_recipients_that_the_plan_skipped_keep_no_range_with_its_number(connection: Connection) -> None:
    _, lease, held = await owned(connection, recipients=2, skipped=[0])
    await advance_watermark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 2, FactKind.ACCEPTED)])
    await release_ranges(connection, lease, [held])
    assert await holders(connection) == {held.range_id: None}


async def test_a_later_attempt_under_way_keeps_its_range_though_an_earlier_one_was_accepted(
    connection: Connection,
) -> None:
    """If the earlier message failed, no owner would account for the later one."""
    _, lease, held = await owned(connection, recipients=2)
    await advance_watermark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 1, FactKind.UNKNOWN), fact(held, 2, FactKind.ACCEPTED)])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    [due] = await due_retries(connection, [held], 10)
    await claim_retries(connection, lease, [due], [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED)])
    assert await release_idle_ranges(connection, lease, [held], -1.0) == set()
    await record(connection, [fact(held, 1, FactKind.ACCEPTED, 2)])
    assert await release_idle_ranges(connection, lease, [held], -1.0) == {held.range_id}
    await assert_range_counters_hold(connection)


async def test_a_range_with_a_later_attempt_under_way_is_not_released_until_its_deferred_are_due(
    connection: Connection,
) -> None:
    _, lease, held = await owned(connection, recipients=2)
    await advance_watermark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED), fact(held, 2, FactKind.DEFERRED, wait_s=60)])
    [due] = await due_retries(connection, [held], 10)
    await claim_retries(connection, lease, [due], [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED)])
    assert await release_idle_ranges(connection, lease, [held], 10.0) == set()
    await record(connection, [fact(held, 1, FactKind.ACCEPTED, 2)])
    assert await release_idle_ranges(connection, lease, [held], 10.0) == {held.range_id}


async def test_a_range_stays_with_its_number_while_a_claim_without_an_answer_is_under_way(
    connection: Connection, other: Connection
) -> None:
    """Nobody would put the claim in doubt if nobody held the range."""
    lease, held, due = await deferred(connection)
    async with other.transaction():
        assert await claim_retries(other, lease, due, []) == {(held.range_id, 1): 2}
        releasing = asyncio.create_task(release_ranges(connection, lease, [held]))
        await until_blocked(other, connection, releasing)
    await releasing
    assert await holders(connection) == {held.range_id: SLOW}


async def test_closing_skips_only_recipients_of_whom_nothing_is_recorded(connection: Connection) -> None:
    planted, _, held = await owned(connection, recipients=6)
    await record(
        connection,
        [
            fact(held, 1, FactKind.ACCEPTED),
            fact(held, 2, FactKind.UNKNOWN),
            fact(held, 3, FactKind.DEFERRED),
            fact(held, 4, FactKind.FAILED),
        ],
    )
    await apply_event(connection, planted.campaign_id, CampaignEvent.CANCEL, "by hand")
    assert await close_ranges(connection, planted.campaign_id, "cancelled") == 3
    await assert_range_counters_hold(connection)
    rows = await connection.fetch(statements("report")["reasons"], planted.campaign_id, 10)
    assert sum(row["recipients"] for row in rows if row["state"] == "skipped") == 3


async def test_a_range_is_released_or_finished_by_its_own_recipients(connection: Connection) -> None:
    """Nobody would look again for recipients in a range that nobody holds and that is not due."""
    _, lease, first, second = await two_ranges(connection)
    await record(connection, [fact(first, seq, FactKind.DEFERRED, wait_s=60) for seq in (1, 2)])
    await record(connection, [fact(second, 1, FactKind.DEFERRED, wait_s=90)])
    assert await release_idle_ranges(connection, lease, [first, second], 10) == {first.range_id}, (
        "released until its deferred are due"
    )
    await connection.execute("UPDATE ranges SET due_at = now()")
    assert await take_range(connection, lease, first.campaign_id) is not None
    await release_ranges(connection, lease, [first, second])
    assert await holders(connection) == {first.range_id: None, second.range_id: SLOW}
    assert await take_range(connection, lease, first.campaign_id) is None, "due when its own are"
    await connection.execute("UPDATE ranges SET due_at = now()")
    assert await take_range(connection, lease, first.campaign_id) is not None
    await record(connection, [fact(first, seq, FactKind.ACCEPTED) for seq in (1, 2)])
    await release_ranges(connection, lease, [second])
    assert await release_idle_ranges(connection, lease, [first, second], 10) == {first.range_id}, "finished"
    assert await holders(connection) == {first.range_id: None, second.range_id: SLOW}
