"""A takeover: what the former owner may no longer claim, and which of its attempts are put in doubt."""

import asyncio

import pytest

from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store.claims import ClaimRefused, advance_watermark, read_watermark
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import FactKind
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import (
    own_ranges,
    release_idle_ranges,
    release_ranges,
    take_over_ranges,
    take_range,
)
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.retry_claims import claim_retries, due_retries
from tests.kit.waiting import until_blocked
from tests.sending.planted import FAST, SLOW, another_process, assert_range_counters_hold, counts
from tests.store.owned import fact, holders, owned, two_ranges

pytestmark = pytest.mark.usefixtures("two_numbers")


async def test_after_a_takeover_every_claim_of_the_stale_owner_is_refused(
    connection: Connection, other: Connection
) -> None:
    planted, lease, held = await owned(connection, recipients=20, range_size=10)
    await advance_watermark(other, lease, held, 2, [])
    await record(other, [fact(held, 1, FactKind.DEFERRED), fact(held, 2, FactKind.ACCEPTED)])
    due = await due_retries(other, [held], 10)
    successor = await take_lease(connection, SLOW, this_process())
    await take_over_ranges(connection, successor)
    with pytest.raises(ClaimRefused):
        await advance_watermark(other, lease, held, 3, [])
    with pytest.raises(ClaimRefused):
        await read_watermark(other, lease, held)
    assert await claim_retries(other, lease, due, [fact(held, 1, FactKind.SKIPPED)]) == {}
    assert await take_range(other, lease, planted.campaign_id) is None
    assert await own_ranges(other, lease) == []
    assert await release_idle_ranges(other, lease, [held], 10) == {held.range_id}, (
        "the answer says that it lost the range"
    )
    await release_ranges(other, lease, [held])
    assert (await holders(connection))[held.range_id] == SLOW
    assert await claim_retries(connection, successor, due, []) == {(held.range_id, 1): 2}


async def test_a_takeover_puts_each_attempt_in_doubt_once_and_leaves_what_is_known(
    connection: Connection,
) -> None:
    planted, lease, held = await owned(connection, recipients=12, skipped=[1])
    await advance_watermark(connection, lease, held, 8, [fact(held, 1, FactKind.SKIPPED, 0)])
    known = [
        fact(held, 3, FactKind.ACCEPTED),
        fact(held, 4, FactKind.FAILED),
        fact(held, 5, FactKind.DEFERRED),
    ]
    await record(connection, known)
    for _ in range(2):
        successor = await take_lease(connection, SLOW, another_process())
        [taken_over] = await take_over_ranges(connection, successor)
        assert (taken_over.claimed_through, taken_over.last_seq) == (8, 12)
        assert await counts(connection, planted.campaign_id) == {
            "skipped": 2, "accepted": 1, "failed": 1, "deferred": 1, "unknown": 3, "pending": 4,
        }  # fmt: skip
        await assert_range_counters_hold(connection)
    assert await take_over_ranges(connection, successor) == [], "what is fenced is no longer a former owner's"
    claims = await connection.fetch("SELECT from_seq, epoch FROM claims ORDER BY epoch")
    assert [tuple(claim) for claim in claims] == [(1, 1), (9, 2), (9, 3)], "who claims from where"
    rows = await connection.fetch(
        "SELECT seq, attempt_no, state FROM pending_attempts WHERE state = 'unknown' ORDER BY seq"
    )
    assert [tuple(row) for row in rows] == [(seq, 1, "unknown") for seq in (6, 7, 8)]


@pytest.mark.parametrize("ends", ["released", "dead"])
async def test_a_former_owner_that_claimed_nobody_does_not_count_as_its_next_owner(
    connection: Connection, ends: str
) -> None:
    """The first owners of two numbers have the same epoch, and here the same watermark: one released the range."""
    planted, lease, held = await owned(connection)
    await release_ranges(connection, lease, [held])
    await connection.execute("UPDATE claims SET claimed_at = now() - interval '1 day'")
    if ends == "dead":
        await connection.execute("UPDATE claims SET epoch = 2")
    other = await take_lease(connection, FAST, another_process())
    assert await take_range(connection, other, planted.campaign_id) is not None
    if ends == "dead":
        other = await take_lease(connection, FAST, another_process())
        await take_over_ranges(connection, other)
    claims = await connection.fetch(
        "SELECT phone_number_id, claimed_at > now() - interval '1 hour' FROM claims WHERE epoch = $1",
        other.epoch,
    )
    assert [tuple(claim) for claim in claims] == [(FAST, True)]


async def test_a_retry_under_way_is_put_in_doubt_unless_the_recipient_was_reached(
    connection: Connection,
) -> None:
    planted, lease, held = await owned(connection, recipients=3)
    await advance_watermark(connection, lease, held, 3, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2, 3)])
    due = await due_retries(connection, [held], 10)
    granted = await claim_retries(
        connection, lease, [candidate for candidate in due if candidate.seq != 3], []
    )
    assert sorted(granted.values()) == [2, 2]
    assert await counts(connection, planted.campaign_id) == {"pending": 2, "deferred": 1}
    await record(
        connection, [fact(held, 1, FactKind.ACCEPTED)]
    )  # an event: the first attempt got through after all
    await connection.execute("UPDATE pending_attempts SET since = now() - interval '1 day'")
    await take_over_ranges(connection, await take_lease(connection, SLOW, this_process()))
    in_doubt_since_now = (
        "SELECT since > now() - interval '1 hour' FROM pending_attempts WHERE state = 'unknown'"
    )
    assert await connection.fetchval(in_doubt_since_now), (
        "the wait for its events begins when it is put in doubt"
    )
    assert await counts(connection, planted.campaign_id) == {"accepted": 1, "unknown": 1, "deferred": 1}
    await assert_range_counters_hold(connection)


@pytest.mark.parametrize("earlier", [FactKind.ACCEPTED, FactKind.FAILED])
async def test_a_retry_under_way_is_put_in_doubt_though_an_earlier_message_failed(
    connection: Connection, earlier: FactKind
) -> None:
    """The earlier message failed by a status after it was accepted, or was refused."""
    planted, lease, held = await owned(connection, recipients=1)
    await advance_watermark(connection, lease, held, 1, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    await claim_retries(connection, lease, await due_retries(connection, [held], 10), [])
    await record(connection, [fact(held, 1, earlier)])
    await connection.execute("UPDATE outcomes SET status = 3 WHERE kind = 1")
    await connection.execute("UPDATE range_counters SET accepted = 0")
    await take_over_ranges(connection, await take_lease(connection, SLOW, this_process()))
    assert await counts(connection, planted.campaign_id) == {"unknown": 1}
    await assert_range_counters_hold(connection)


async def test_a_former_owners_late_refusal_settles_an_attempt_that_a_takeover_put_in_doubt(
    connection: Connection,
) -> None:
    planted, lease, held = await owned(connection, recipients=2)
    await advance_watermark(connection, lease, held, 2, [])
    await take_over_ranges(connection, await take_lease(connection, SLOW, this_process()))
    await record(connection, [fact(held, 1, FactKind.DEFERRED, epoch=lease.epoch)])
    assert await counts(connection, planted.campaign_id) == {"deferred": 1, "unknown": 1}
    await assert_range_counters_hold(connection)


async def test_a_claim_and_a_takeover_that_interleave_leave_one_owner(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    """Whichever commits first: a claim is either sent by the old owner or put in doubt by the new one."""
    planted, lease, held = await owned(connection, recipients=200)
    for turn in range(15):
        successor = await take_lease(connection, SLOW, another_process())
        raised, taken_over = await asyncio.gather(
            advance_watermark(other, lease, held, held.claimed_through + 1, []),
            take_over_ranges(connection, successor),
            return_exceptions=True,
        )
        assert raised is None or isinstance(raised, ClaimRefused), turn
        assert isinstance(taken_over, list)
        in_doubt = (await counts(connection, planted.campaign_id))["unknown"]
        assert in_doubt == taken_over[0].claimed_through, (
            "everything claimed before the fence is in doubt, nothing after it"
        )
        with pytest.raises(ClaimRefused):
            await advance_watermark(other, lease, taken_over[0], taken_over[0].claimed_through + 1, [])
        lease, held = successor, taken_over[0]
    await assert_range_counters_hold(connection)


async def test_a_range_that_is_released_during_a_takeover_is_not_taken_over(
    connection: Connection, other: Connection
) -> None:
    """Another number may have it by then."""
    _, lease, held = await owned(connection)
    successor = await take_lease(connection, SLOW, this_process())
    async with other.transaction():
        await release_ranges(other, lease, [held])
        taking_over = asyncio.create_task(take_over_ranges(connection, successor))
        await until_blocked(other, connection, taking_over)
    assert await taking_over == []


async def test_a_takeover_puts_attempts_in_doubt_by_what_is_known_in_their_own_range(
    connection: Connection,
) -> None:
    planted, _, first, _ = await two_ranges(connection)
    await record(connection, [fact(first, 1, FactKind.ACCEPTED), fact(first, 2, FactKind.DEFERRED)])
    await take_over_ranges(connection, await take_lease(connection, SLOW, this_process()))
    assert await counts(connection, planted.campaign_id) == {"accepted": 1, "deferred": 1, "unknown": 2}
    await assert_range_counters_hold(connection)
