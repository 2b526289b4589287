"""Status events become states: whatever their order, number and lateness, the range counters equal a recount."""

import asyncio
from datetime import timedelta

import pytest

from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.status_applier import FOREIGN_MATCHES_MAX, AppliedBatch, apply_statuses
from tests.kit.planted import (
    FIRST_RANGE,
    NOON,
    NUMBER,
    installation,
    make_all_due,
    microseconds,
    plant_campaign,
    put_in_doubt,
    put_in_inbox,
    range_counters,
    recount,
    state_of,
    status_event,
)

ACCEPTED, SENT, FAILED, DELIVERED, READ = 1, 2, 3, 4, 5


async def tag_of(connection: Connection, seq: int, attempt_no: int = 1, range_id: int = FIRST_RANGE) -> Tag:
    return Tag(await installation(connection), range_id, seq, attempt_no, 1)


def accepted(seq: int, campaign_id: int, *, wamid: str | None = None, attempt_no: int = 1) -> Fact:
    return Fact(
        campaign_id, FIRST_RANGE, seq, attempt_no, 1, NUMBER, FactKind.ACCEPTED, wamid or f"wamid.{seq}",
        attempted_us=int(NOON.timestamp() * 1e6),
    )  # fmt: skip


async def apply_all(connection: Connection) -> AppliedBatch:
    applied = await apply_statuses(connection)
    assert await range_counters(connection) == await recount(connection)
    return applied


async def test_statuses_move_an_accepted_recipient_and_never_back(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await record(connection, [accepted(1, campaign)])
    for rank, state in ((DELIVERED, "delivered"), (SENT, "delivered"), (FAILED, "delivered"), (READ, "read")):
        await put_in_inbox(connection, status_event("wamid.1", rank, await tag_of(connection, 1)))
        applied = await apply_all(connection)
        assert (applied.taken, applied.looked_up) == (1, 0)
        assert await state_of(connection, 1) == state
    row = await connection.fetchrow("SELECT * FROM outcomes")
    assert row["sent_at"] == row["delivered_at"] == row["read_at"] == NOON


async def test_duplicates_change_nothing(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await record(connection, [accepted(1, campaign)])
    event = status_event("wamid.1", SENT, await tag_of(connection, 1))
    await put_in_inbox(connection, *[event] * 50)
    await apply_all(connection)
    before = await connection.fetchval("SELECT xmin::text FROM outcomes")
    await put_in_inbox(connection, event, event)
    await apply_all(connection)
    assert await connection.fetchval("SELECT xmin::text FROM outcomes") == before
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 0


async def test_an_event_before_the_reply_is_evidence_and_the_reply_changes_nothing(
    connection: Connection,
) -> None:
    campaign = await plant_campaign(connection)
    await put_in_inbox(connection, status_event("wamid.3", SENT, await tag_of(connection, 3)))
    assert (await apply_all(connection)).looked_up == 0
    assert await state_of(connection, 3) == "sent"
    await record(connection, [accepted(3, campaign)])
    assert await range_counters(connection) == await recount(connection)
    assert await state_of(connection, 3) == "sent"


async def test_a_delivery_after_a_failure_counts(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await record(connection, [accepted(1, campaign)])
    for rank in (FAILED, DELIVERED):
        await put_in_inbox(connection, status_event("wamid.1", rank, await tag_of(connection, 1)))
        await apply_all(connection)
        assert await range_counters(connection) == await recount(connection)
    assert await state_of(connection, 1) == "delivered"


async def test_only_delivered_or_read_replaces_a_refusal(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await record(connection, [accepted(1, campaign)._replace(kind=FactKind.FAILED, wamid=None, reason="no")])
    for rank, state in ((SENT, "failed"), (DELIVERED, "delivered")):
        await put_in_inbox(connection, status_event("wamid.1", rank, await tag_of(connection, 1)))
        await apply_all(connection)
        assert await state_of(connection, 1) == state
        assert await range_counters(connection) == await recount(connection)


async def test_a_suppressed_recipient_stays_skipped_whatever_an_event_says(connection: Connection) -> None:
    await plant_campaign(connection)
    await connection.execute("UPDATE recipients SET skip_reason = 'suppressed' WHERE seq = 1")
    await connection.execute("UPDATE range_counters SET skipped = 1")
    await put_in_inbox(connection, status_event("wamid.1", SENT, await tag_of(connection, 1)))
    await apply_all(connection)
    assert await range_counters(connection) == await recount(connection) == {FIRST_RANGE: {"skipped": 1}}


async def test_events_of_two_unrecorded_attempts_count_for_two_attempts(connection: Connection) -> None:
    """A database that went back in time may know neither. Then the failure of the first is not the recipient's."""
    await plant_campaign(connection)
    events = [
        status_event(f"wamid.{attempt_no}", rank, await tag_of(connection, 1, attempt_no))
        for attempt_no, rank in ((1, FAILED), (2, SENT))
    ]
    await put_in_inbox(connection, *events)
    await apply_all(connection)
    assert await state_of(connection, 1) == "sent"
    assert await range_counters(connection) == await recount(connection)


async def test_an_event_of_a_recipient_who_was_skipped_at_the_end_is_evidence(connection: Connection) -> None:
    """A database that went back in time may not know that it was sent. The event replaces the skip, and the skip is no
    longer counted."""
    campaign = await plant_campaign(connection, claimed_through=5)
    await close_ranges(connection, campaign, "cancelled")
    await put_in_inbox(connection, status_event("wamid.8", SENT, await tag_of(connection, 8)))
    await apply_all(connection)
    assert await state_of(connection, 8) == "sent"
    assert await range_counters(connection) == await recount(connection)


async def test_an_attempt_in_doubt_is_settled_by_its_event(connection: Connection) -> None:
    await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1, 2)
    await put_in_inbox(connection, status_event("wamid.1", DELIVERED, await tag_of(connection, 1)))
    assert (await apply_all(connection)).looked_up == 1
    assert await state_of(connection, 1) == "delivered"
    assert await state_of(connection, 2) == "unknown"
    assert await connection.fetchval("SELECT wamid FROM outcomes") == "wamid.1"


async def test_evidence_of_an_earlier_attempt_cancels_a_deferral(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await record(
        connection,
        [Fact(campaign, FIRST_RANGE, 1, 1, 1, NUMBER, FactKind.DEFERRED, reason="throttled", wait_s=60)],
    )
    assert await state_of(connection, 1) == "deferred"
    await put_in_inbox(connection, status_event("wamid.1", SENT, await tag_of(connection, 1)))
    await apply_all(connection)
    assert await state_of(connection, 1) == "sent"
    assert await connection.fetchval("SELECT count(*) FROM pending_attempts") == 0


async def test_a_later_attempt_under_way_keeps_its_row_and_only_the_current_attempt_fails(
    connection: Connection,
) -> None:
    await plant_campaign(connection)
    await connection.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " VALUES ($1, 1, 2, 'claimed', 1, $2, 'retry')",
        FIRST_RANGE,
        NUMBER,
    )
    await put_in_inbox(
        connection, status_event("wamid.a", FAILED, await tag_of(connection, 1, 1), code=131026)
    )
    await apply_all(connection)
    assert await state_of(connection, 1) == "pending"
    await put_in_inbox(
        connection, status_event("wamid.b", FAILED, await tag_of(connection, 1, 2), code=131026)
    )
    await apply_all(connection)
    assert await state_of(connection, 1) == "failed"
    assert await connection.fetchval("SELECT count(*) FROM pending_attempts") == 0


async def test_a_failed_status_carries_code_and_reason(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await record(connection, [accepted(1, campaign)])
    tag = await tag_of(connection, 1)
    event = status_event("wamid.1", FAILED, tag, code=131026, detail="Message undeliverable")
    await put_in_inbox(connection, event)
    await apply_all(connection)
    row = await connection.fetchrow("SELECT code, reason, failed_at FROM outcomes")
    assert tuple(row) == (131026, "Message undeliverable", NOON)
    assert await state_of(connection, 1) == "failed"


@pytest.mark.parametrize("known", ["accepted", "nothing", "in doubt"])
async def test_each_status_keeps_its_first_time_and_its_reason_in_any_order(
    connection: Connection, known: str
) -> None:
    """The status applier finds the reply, nothing, or an attempt in doubt."""
    campaign = await plant_campaign(connection)
    if known == "accepted":
        await record(connection, [accepted(1, campaign)])
    elif known == "in doubt":
        await put_in_doubt(connection, FIRST_RANGE, 1)
    tag, us = await tag_of(connection, 1), microseconds(NOON)
    seconds = {READ: 4, DELIVERED: 3, FAILED: 2, SENT: 1}
    late = [status_event("wamid.1", rank, tag, status_us=us + 9_000_000) for rank in (READ, SENT)]
    for event in late:
        await put_in_inbox(connection, event)
        await apply_all(connection)
    for rank, at_s in seconds.items():
        code = 131026 if rank == FAILED else None
        event = status_event("wamid.1", rank, tag, status_us=us + at_s * 1_000_000, code=code)
        await put_in_inbox(connection, event, *late)
        await apply_all(connection)
    row = await connection.fetchrow(
        "SELECT sent_at, failed_at, delivered_at, read_at, code, reason FROM outcomes"
    )
    times = [NOON + timedelta(seconds=at_s) for at_s in (1, 2, 3, 4)]
    assert tuple(row) == (*times, 131026, "131026")
    assert await state_of(connection, 1) == "read"


@pytest.mark.parametrize("known", ["nothing", "in doubt"])
async def test_a_failure_before_any_reply_keeps_the_services_code_and_text(
    connection: Connection, known: str
) -> None:
    await plant_campaign(connection)
    if known == "in doubt":
        await put_in_doubt(connection, FIRST_RANGE, 1)
    failed = status_event("w", FAILED, await tag_of(connection, 1), code=131026, detail="Undeliverable")
    await put_in_inbox(connection, status_event("w", SENT, await tag_of(connection, 1)), failed)
    await apply_all(connection)
    row = await connection.fetchrow("SELECT status, code, reason, sent_at, failed_at FROM outcomes")
    assert tuple(row) == (FAILED, 131026, "Undeliverable", NOON, NOON)


async def test_an_event_that_names_no_number_is_recorded_with_the_one_that_claimed(
    connection: Connection,
) -> None:
    """For an attempt in doubt, the number of its last attempt; for others, the number that claimed."""
    await plant_campaign(connection)
    await connection.execute("INSERT INTO claims SELECT range_id, 1, 5, 'sent nothing' FROM claims")
    await put_in_doubt(connection, FIRST_RANGE, 1, number="another")
    for seq in (1, 2):
        event = status_event(f"wamid.{seq}", SENT, await tag_of(connection, seq), phone_number_id=None)
        await put_in_inbox(connection, event)
    assert (await apply_all(connection)).matched == 2
    rows = await connection.fetch("SELECT seq, phone_number_id FROM outcomes ORDER BY seq")
    assert [tuple(row) for row in rows] == [(1, "another"), (2, NUMBER)]


async def test_an_event_without_a_tag_finds_its_wamid_even_when_the_reply_comes_later(
    connection: Connection,
) -> None:
    campaign = await plant_campaign(connection)
    await put_in_inbox(connection, status_event("wamid.5", DELIVERED))
    assert (await apply_all(connection)).returned == 1
    await record(connection, [accepted(5, campaign)])
    assert (await apply_statuses(connection)).taken == 0, "it waits before it is matched again"
    await make_all_due(connection)
    assert (await apply_all(connection)).matched == 1
    assert await state_of(connection, 5) == "delivered"


async def test_a_failure_that_waited_for_its_reply_keeps_the_services_code_and_text(
    connection: Connection,
) -> None:
    campaign = await plant_campaign(connection)
    await put_in_inbox(connection, status_event("wamid.5", FAILED, code=131026, detail="Undeliverable"))
    assert (await apply_all(connection)).returned == 1
    await record(connection, [accepted(5, campaign)])
    await make_all_due(connection)
    assert (await apply_all(connection)).matched == 1
    row = await connection.fetchrow("SELECT status, code, reason, failed_at FROM outcomes")
    assert tuple(row) == (FAILED, 131026, "Undeliverable", NOON)


async def test_the_waits_of_an_unmatched_event_grow_and_end_after_eight_days(connection: Connection) -> None:
    await plant_campaign(connection)
    await put_in_inbox(connection, status_event("wamid.alien", SENT))
    waits = []
    came = await connection.fetchval("SELECT received_at FROM waiting_events")
    for _ in range(5):
        await make_all_due(connection)
        assert (await apply_all(connection)).returned == 1
        waits.append(await connection.fetchval("SELECT due_at - now() FROM inbox"))
    assert waits == sorted(waits)
    await connection.execute("UPDATE inbox SET matches_tried = 30")
    await make_all_due(connection)
    await apply_all(connection)
    assert await connection.fetchval("SELECT due_at - now() FROM inbox") < timedelta(hours=2)
    assert await connection.fetchval("SELECT received_at FROM inbox") == came, (
        "the eight days run from its receipt"
    )
    await connection.execute("UPDATE inbox SET received_at = now() - interval '8 days 1 second'")
    await make_all_due(connection)
    assert (await apply_all(connection)).dropped == 1
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 0


async def test_the_tag_of_another_installation_is_not_ours(connection: Connection) -> None:
    await plant_campaign(connection)
    await put_in_doubt(connection, FIRST_RANGE, 1)
    phone = await connection.fetchval("SELECT phone FROM recipients WHERE seq = 1")
    tag = (await tag_of(connection, 1)).__class__("zzzzzzzz", FIRST_RANGE, 1, 1, 1)
    await put_in_inbox(
        connection,
        status_event("wamid.x", SENT, tag, recipient=str(phone)),
        status_event("wamid.y", SENT, recipient=str(phone), installation=""),
    )
    assert (await apply_all(connection)).returned == 2
    assert await state_of(connection, 1) == "unknown"


async def test_events_of_another_program_are_dropped_soon(connection: Connection) -> None:
    """Matching them for eight days would delay our own events."""
    await plant_campaign(connection)
    await put_in_inbox(
        connection,
        status_event("wamid.x", SENT, Tag("zzzzzzzz", FIRST_RANGE, 1, 1, 1)),
        status_event("wamid.y", SENT, installation=""),
        status_event("wamid.z", SENT),  # perhaps ours, without a tag
        status_event("wamid.gone", SENT, await tag_of(connection, 1, range_id=(2000 << 47) + 5)),
    )
    for _ in range(FOREIGN_MATCHES_MAX):
        await make_all_due(connection)
        assert (await apply_all(connection)).returned == 4
    await make_all_due(connection)
    applied = await apply_all(connection)
    assert (applied.returned, applied.dropped) == (2, 2)
    rows = await connection.fetch("SELECT wamid FROM waiting_events")
    assert {row["wamid"] for row in rows} == {"wamid.z", "wamid.gone"}


async def test_a_tag_of_a_range_that_is_gone_waits_and_harms_nothing(connection: Connection) -> None:
    campaign = await plant_campaign(connection)
    await record(connection, [accepted(1, campaign)])
    gone = await tag_of(connection, 1, range_id=(2000 << 47) + 5)
    await put_in_inbox(
        connection,
        status_event("wamid.gone", SENT, gone),
        status_event("wamid.1", SENT, await tag_of(connection, 1)),
    )
    applied = await apply_all(connection)
    assert (applied.matched, applied.returned) == (1, 1)


async def test_applying_and_recording_at_the_same_time_keep_exact_range_counters(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, ranges=4, recipients=200)
        own = await installation(connection)
        for range_id in range(FIRST_RANGE, FIRST_RANGE + 4):
            for rank in (SENT, DELIVERED):
                await put_in_inbox(
                    connection,
                    *(
                        status_event(f"wamid.{range_id}.{seq}", rank, Tag(own, range_id, seq, 1, 1))
                        for seq in range(1, 201)
                    ),
                )

    async def send() -> None:
        for first in range(1, 201, 20):
            async with pool.acquire() as connection:
                await record(
                    connection,
                    [
                        Fact(
                            campaign,
                            range_id,
                            seq,
                            1,
                            1,
                            NUMBER,
                            FactKind.ACCEPTED,
                            f"wamid.{range_id}.{seq}",
                        )
                        for range_id in range(FIRST_RANGE, FIRST_RANGE + 4)
                        for seq in range(first, first + 20)
                    ],
                )

    async def apply_waiting() -> None:
        async with pool.acquire() as connection:
            while await connection.fetchval("SELECT EXISTS (SELECT 1 FROM waiting_events)"):
                await apply_statuses(connection, 97)

    await asyncio.gather(send(), apply_waiting(), apply_waiting())
    async with pool.acquire() as connection:
        assert await range_counters(connection) == await recount(connection)
        assert {counts["delivered"] for counts in (await range_counters(connection)).values()} == {200}
