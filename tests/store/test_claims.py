"""Taking ranges, paging, advancing the watermark: which recipients an owner may claim for the first time."""

import asyncio

import pytest

from drumbeat.engine.core.states import CampaignEvent
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store import claims, ranges, retry_claims
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.claims import (
    Candidate,
    ClaimRefused,
    WatermarkAdvance,
    advance_watermark,
    advance_watermarks,
    page,
    read_watermark,
    recorded_above,
)
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import FactKind
from drumbeat.engine.store.leases import Lease, take_lease
from drumbeat.engine.store.ranges import HeldRange, own_ranges, take_over_ranges, take_range
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.retry_claims import claim_retries, due_retries
from tests.kit.waiting import until_blocked
from tests.sending.planted import (
    FAST,
    SLOW,
    another_process,
    assert_range_counters_hold,
    counts,
    plant_campaign,
)
from tests.store.owned import fact, owned, two_ranges

pytestmark = pytest.mark.usefixtures("two_numbers")


async def test_ranges_are_taken_in_order_and_a_lost_number_takes_none(connection: Connection) -> None:
    planted = await plant_campaign(connection, recipients=25, range_size=10)
    lease = await take_lease(connection, SLOW, another_process())
    first = await take_range(connection, lease, planted.campaign_id)
    second = await take_range(connection, lease, planted.campaign_id)
    assert [first and first.range_id, second and second.range_id] == planted.range_ids[:2]
    assert [held.range_id for held in await own_ranges(connection, lease)] == planted.range_ids[:2]
    done = "UPDATE ranges SET state = 'done', phone_number_id = NULL WHERE range_id = $1"
    await connection.execute(done, planted.range_ids[0])
    successor = await take_lease(connection, SLOW, this_process())
    assert await take_range(connection, lease, planted.campaign_id) is None
    last = await take_range(connection, successor, planted.campaign_id)
    assert last is not None and last.last_seq == 5
    assert await take_range(connection, successor, planted.campaign_id) is None


async def test_a_number_that_finds_no_free_range_writes_nothing(connection: Connection) -> None:
    planted, lease, _ = await owned(connection, recipients=2, range_size=10)
    async with connection.transaction():
        assert await take_range(connection, lease, planted.campaign_id) is None
        assert await connection.fetchval("SELECT pg_current_xact_id_if_assigned()") is None


async def test_many_owners_at_once_never_take_one_range_twice(pool: Pool, connection: Connection) -> None:
    planted = await plant_campaign(connection, recipients=40, range_size=2)
    leases = [await take_lease(connection, number, this_process()) for number in (SLOW, FAST)]

    async def take_all(lease: Lease) -> list[int]:
        taken = []
        async with pool.acquire() as own:
            while (held := await take_range(own, lease, planted.campaign_id)) is not None:
                taken.append(held.range_id)
        return taken

    hauls = await asyncio.gather(*(take_all(lease) for lease in leases * 3))
    taken = [range_id for haul in hauls for range_id in haul]
    assert sorted(taken) == planted.range_ids


async def test_a_page_holds_recipients_above_the_watermark_that_the_plan_did_not_skip(
    connection: Connection,
) -> None:
    planted, lease, held = await owned(connection, recipients=10, skipped=[4, 6])
    await advance_watermark(connection, lease, held, 3, [])
    found = await page(connection, held)
    assert [listed.seq for listed in found] == [4, 6, 8, 9, 10]
    assert [listed.phone for listed in found][:2] == [planted.phones[3], planted.phones[5]]
    assert found[0] == Candidate(
        planted.campaign_id, held.range_id, 4, planted.phones[3], ["Ana 4", "LH-4"], opted_out=False
    )


async def test_an_advance_from_another_watermark_or_beyond_the_range_is_refused(
    connection: Connection,
) -> None:
    _, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 4, [])
    stale, ahead = (
        HeldRange(held.range_id, held.campaign_id, held.last_seq, claimed_through, "open")
        for claimed_through in (0, 6)
    )
    for wrong, claimed_through in ((stale, 6), (ahead, 8), (held, 11)):
        with pytest.raises(ClaimRefused):
            await advance_watermark(
                connection, lease, wrong, claimed_through, [fact(held, 5, FactKind.SKIPPED, 0)]
            )
    assert await read_watermark(connection, lease, held) == held.claimed_through == 4
    assert await connection.fetchval("SELECT count(*) FROM outcomes") == 0, "refused with all it decided"


async def test_what_the_guard_decides_is_stored_with_the_raise(connection: Connection) -> None:
    planted, lease, held = await owned(connection)
    decided = [fact(held, 2, FactKind.SKIPPED, 0), fact(held, 3, FactKind.DEFERRED, 0)]
    await advance_watermark(connection, lease, held, 5, decided)
    assert await counts(connection, planted.campaign_id) == {"pending": 8, "skipped": 1, "deferred": 1}
    await assert_range_counters_hold(connection)
    assert [(retry.seq, retry.attempt_no) for retry in await due_retries(connection, [held], 9)] == [(3, 0)]


async def test_what_is_cut_short_claims_nobody_and_fences_nothing(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it would put a recipient in doubt who got nothing, or leave a claim that is never put in doubt."""
    _, lease, held = await owned(connection)
    await advance_watermark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    due, skip = await due_retries(connection, [held], 10), [fact(held, 3, FactKind.SKIPPED, 0)]
    successor = await take_lease(connection, SLOW, this_process())

    def cut(*_: object) -> None:
        raise ConnectionResetError

    for module in (claims, retry_claims):
        monkeypatch.setattr(module, "record_looked_up", cut)
    with pytest.raises(ConnectionResetError):
        await advance_watermark(connection, lease, held, 5, skip)
    with pytest.raises(ConnectionResetError):
        await claim_retries(connection, lease, due, skip)
    monkeypatch.setattr(ranges, "Counter", cut)
    with pytest.raises(ConnectionResetError):
        await take_over_ranges(connection, successor)
    assert await read_watermark(connection, lease, held) == held.claimed_through == 2
    assert [row["state"] for row in await connection.fetch("SELECT state FROM pending_attempts")] == [
        "deferred"
    ]


async def test_what_is_ours_waits_for_a_taking_whose_answer_was_lost(
    connection: Connection, other: Connection
) -> None:
    """Its COMMIT may arrive long after its client gave up. No other process would look at that range."""
    planted = await plant_campaign(connection, recipients=4)
    lease = await take_lease(connection, SLOW, this_process())
    lost = other.transaction()
    await lost.start()
    held = await take_range(other, lease, planted.campaign_id)
    assert held is not None
    asked = asyncio.create_task(own_ranges(connection, lease))
    await until_blocked(other, connection, asked)
    await lost.commit()
    assert [granted.range_id for granted in await asked] == [held.range_id]


async def test_who_got_a_message_that_the_database_forgot_is_not_claimed_again(
    connection: Connection,
) -> None:
    """After a restored backup, events name recipients above the watermark; a page may be older than those events."""
    _, lease, held = await owned(connection, recipients=5)
    before = await page(connection, held)
    await record(connection, [fact(held, 2, FactKind.ACCEPTED), fact(held, 5, FactKind.ACCEPTED)])
    assert [listed.seq for listed in await page(connection, held)] == [1, 3, 4]
    assert await advance_watermarks(connection, [WatermarkAdvance(lease, held, 3, before[:3])]) == set()
    assert await recorded_above(connection, held, 3) == {2}
    await advance_watermark(connection, lease, held, 3, [])
    assert await recorded_above(connection, held, 4) == set()
    assert await advance_watermarks(connection, [WatermarkAdvance(lease, held, 4, before[3:4])]) == {
        (held.range_id, lease.epoch)
    }
    await assert_range_counters_hold(connection)


async def test_a_recipient_of_whom_anything_is_recorded_gets_no_first_attempt(connection: Connection) -> None:
    """A sender that ran through the restore still stores its outcomes, above watermarks that went back."""
    _, lease, held = await owned(connection, recipients=5)
    before = await page(connection, held)
    await record(
        connection,
        [
            fact(held, 1, FactKind.UNKNOWN),
            fact(held, 2, FactKind.DEFERRED),
            fact(held, 3, FactKind.FAILED),
        ],
    )
    assert [listed.seq for listed in await page(connection, held)] == [4, 5]
    for claimed_through in (1, 2, 3):
        assert (
            await advance_watermarks(
                connection, [WatermarkAdvance(lease, held, claimed_through, before[:claimed_through])]
            )
            == set()
        )
    assert [await recorded_above(connection, held, claimed_through) for claimed_through in (1, 2, 3)] == [
        {1},
        {1, 2},
        {1, 2, 3},
    ]
    await advance_watermark(connection, lease, held, 5, [])
    await assert_range_counters_hold(connection)


@pytest.mark.parametrize("last", [FactKind.ACCEPTED, FactKind.DEFERRED])
async def test_what_became_of_the_last_claimed_holds_up_nobody_behind(
    connection: Connection, last: FactKind
) -> None:
    _, lease, held = await owned(connection, recipients=5)
    await advance_watermark(connection, lease, held, 3, [])
    await record(connection, [fact(held, 3, last)])
    assert await recorded_above(connection, held, 5) == set()
    behind = await page(connection, held)
    assert await advance_watermarks(connection, [WatermarkAdvance(lease, held, 5, behind)]) == {
        (held.range_id, lease.epoch)
    }


async def test_a_range_and_a_retry_are_claimed_only_of_a_campaign_that_runs(connection: Connection) -> None:
    """The database decides: what a process knows of it may be half a second old."""
    planted, lease, held = await owned(connection, recipients=8, range_size=4)
    await advance_watermark(connection, lease, held, held.last_seq, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    await apply_event(connection, planted.campaign_id, CampaignEvent.PAUSE, "by hand")
    due = await due_retries(connection, [held], 10)
    assert [listed.seq for listed in due] == [1]
    assert await claim_retries(connection, lease, due, []) == {}
    assert await take_range(connection, lease, planted.campaign_id) is None
    await apply_event(connection, planted.campaign_id, CampaignEvent.RESUME, "")
    assert len(await claim_retries(connection, lease, due, [])) == 1
    assert await take_range(connection, lease, planted.campaign_id) is not None
    await assert_range_counters_hold(connection)


async def test_a_recipient_known_in_one_range_gets_a_first_attempt_in_another(connection: Connection) -> None:
    planted, lease, first, second = await two_ranges(connection, size=4)
    await record(connection, [fact(first, 3, FactKind.ACCEPTED), fact(first, 4, FactKind.DEFERRED)])
    candidates = await page(connection, second)
    assert [(candidate.seq, candidate.phone) for candidate in candidates] == [
        (3, planted.phones[6]),
        (4, planted.phones[7]),
    ]
    assert await recorded_above(connection, second, 4) == set()
    claimed = await advance_watermarks(connection, [WatermarkAdvance(lease, second, 4, candidates)])
    assert claimed == {(second.range_id, lease.epoch)}
