"""Recording outcomes of attempts: repeated, in any order, with odd texts. The range counters stay exact."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from drumbeat.engine.core.retry import Budget
from drumbeat.engine.store.claims import advance_watermark
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.facts import REASON_CHARACTERS_MAX, AttemptCounts, Fact, FactKind
from drumbeat.engine.store.ranges import take_range
from drumbeat.engine.store.recording import record
from tests.sending.planted import (
    SLOW,
    assert_range_counters_hold,
    counts,
    plant_campaign,
)
from tests.store.recorded import Sending

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
NOON_US = int(NOON.timestamp()) * 1_000_000


def one_fact_of_each_kind(sending: Sending) -> Sequence[Fact]:
    return [sending.fact(seq, kind) for seq, kind in enumerate(FactKind, 1)]


async def test_a_batch_is_counted_by_what_became_of_each(sending: Sending) -> None:
    await sending.record(*one_fact_of_each_kind(sending))
    assert await counts(sending.connection, sending.held.campaign_id) == {
        "accepted": 1, "failed": 1, "skipped": 1, "deferred": 1, "unknown": 1, "pending": 5,
    }  # fmt: skip


async def test_a_whole_batch_again_changes_nothing(sending: Sending) -> None:
    await sending.record(*one_fact_of_each_kind(sending))
    before = await sending.connection.fetch("SELECT * FROM outcomes ORDER BY seq")
    open_before = await sending.pending_attempts()
    counted = await counts(sending.connection, sending.held.campaign_id)
    await sending.record(*one_fact_of_each_kind(sending))
    await sending.record(*reversed(one_fact_of_each_kind(sending)))
    assert await sending.connection.fetch("SELECT * FROM outcomes ORDER BY seq") == before
    assert await sending.pending_attempts() == open_before
    assert await counts(sending.connection, sending.held.campaign_id) == counted


@pytest.mark.parametrize("kind", list(FactKind))
async def test_the_same_fact_twice_in_a_batch_counts_once(sending: Sending, kind: FactKind) -> None:
    once = sending.fact(1, kind)
    await sending.record(once, once, sending.fact(2, FactKind.ACCEPTED))
    counted = await counts(sending.connection, sending.held.campaign_id)
    assert counted.total() == 10
    assert counted["pending"] == 8


@pytest.mark.parametrize(
    "order", list(permutations((FactKind.ACCEPTED, FactKind.DEFERRED, FactKind.UNKNOWN)))
)
async def test_in_one_batch_acceptance_wins_in_any_order(
    sending: Sending, order: tuple[FactKind, ...]
) -> None:
    await sending.record(*(sending.fact(1, kind) for kind in order))
    assert await sending.state(1) == "accepted"
    assert await sending.pending_attempts() == []


async def test_an_attempt_in_doubt_and_deferred_in_one_batch_is_deferred(sending: Sending) -> None:
    both = [sending.fact(1, FactKind.UNKNOWN), sending.fact(1, FactKind.DEFERRED)]
    await sending.record(*both)
    await sending.record(*both)
    await sending.record(*reversed(both))
    assert await sending.pending_attempts() == [(1, 1, "deferred")]


async def test_the_outcomes_of_two_attempts_in_one_batch(sending: Sending) -> None:
    await sending.record(sending.fact(1, FactKind.DEFERRED), sending.fact(2, FactKind.DEFERRED))
    await sending.retry(1)
    await sending.retry(2)
    await sending.record(
        sending.fact(1, FactKind.DEFERRED), sending.fact(1, FactKind.ACCEPTED, 2),
        sending.fact(2, FactKind.ACCEPTED), sending.fact(2, FactKind.DEFERRED, 2),
    )  # fmt: skip
    assert [await sending.state(seq) for seq in (1, 2)] == ["accepted", "accepted"]
    assert await sending.pending_attempts() == []


async def test_a_reply_after_its_own_event_changes_nothing(sending: Sending) -> None:
    """A status may come before the reply: the status applier stored the outcome and its rank first."""
    await sending.connection.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid)"
        " VALUES ($1, 1, 1, 1, 1, 4, $2, 'wamid.1.1')",
        sending.held.range_id,
        SLOW,
    )
    await sending.connection.execute("UPDATE range_counters SET delivered = 1")
    await sending.record(sending.fact(1, FactKind.ACCEPTED))
    await sending.record(sending.fact(1, FactKind.UNKNOWN), sending.fact(2, FactKind.ACCEPTED))
    assert await sending.state(1) == "delivered"
    assert await sending.pending_attempts() == []


async def test_acceptance_cancels_a_deferral_and_a_later_deferral_finds_it_settled(sending: Sending) -> None:
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    await sending.record(sending.fact(1, FactKind.ACCEPTED))
    assert await sending.pending_attempts() == []
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    assert await sending.state(1) == "accepted"
    assert await sending.pending_attempts() == []


async def test_a_late_acceptance_cancels_the_deferral_of_its_own_recipient_only(
    sending: Sending,
) -> None:
    await sending.record(*(sending.fact(seq, FactKind.DEFERRED) for seq in (1, 2, 3)))
    for seq in (1, 2):
        await sending.retry(seq)
    await sending.record(sending.fact(1, FactKind.DEFERRED, 2))
    await sending.record(*(sending.fact(seq, FactKind.ACCEPTED) for seq in (1, 2)))
    assert await sending.pending_attempts() == [(2, 2, "claimed"), (3, 1, "deferred")], (
        "what is under way has a reply"
    )


async def test_a_later_attempt_still_waits_though_an_earlier_one_was_accepted_and_failed(
    sending: Sending,
) -> None:
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    await sending.retry(1)
    await sending.record(sending.fact(1, FactKind.ACCEPTED))
    await sending.connection.execute("UPDATE outcomes SET status = 3")
    await sending.connection.execute("UPDATE range_counters SET accepted = 0")
    await sending.record(sending.fact(1, FactKind.DEFERRED, 2))
    assert await sending.pending_attempts() == [(1, 2, "deferred")]


async def test_who_was_refused_for_good_is_not_deferred(sending: Sending) -> None:
    await sending.record(sending.fact(1, FactKind.FAILED))
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    assert await sending.pending_attempts() == []
    assert await sending.state(1) == "failed"


async def test_a_deferral_holds_only_for_the_current_attempt(sending: Sending) -> None:
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    await sending.retry(1)
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    assert await sending.pending_attempts() == [(1, 2, "claimed")], (
        "the first try's word says nothing of the second"
    )
    await sending.record(sending.fact(1, FactKind.DEFERRED, 2, spent=Budget(transient_failures=2), wait_s=60))
    assert await sending.pending_attempts() == [(1, 2, "deferred")]
    row = await sending.connection.fetchrow(
        "SELECT transient_failures, due_at > now() + interval '50 s' FROM pending_attempts"
    )
    assert row is not None and tuple(row) == (2, True)


async def test_a_failure_of_an_earlier_attempt_fails_no_recipient_with_a_later_attempt(
    sending: Sending,
) -> None:
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    await sending.retry(1)
    await sending.record(sending.fact(1, FactKind.FAILED))
    assert await sending.state(1) == "pending"
    await sending.record(sending.fact(1, FactKind.ACCEPTED, 2))
    assert await sending.state(1) == "accepted"


async def test_what_waits_in_a_closed_range_is_skipped_with_its_reason(sending: Sending) -> None:
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    await close_ranges(sending.connection, sending.held.campaign_id, "cancelled")
    await assert_range_counters_hold(sending.connection)
    await sending.record(
        sending.fact(2, FactKind.DEFERRED),
        sending.fact(3, FactKind.ACCEPTED),
        sending.fact(4, FactKind.UNKNOWN),
    )
    rows = await sending.connection.fetch("SELECT state, reason FROM recipient_states ORDER BY seq LIMIT 5")
    assert [tuple(row) for row in rows] == [
        ("skipped", "cancelled"), ("skipped", "cancelled"), ("accepted", None), ("unknown", "unknown"),
        ("pending", None),
    ]  # fmt: skip


async def test_a_recipient_who_opts_out_is_suppressed(sending: Sending) -> None:
    await sending.record(sending.fact(2, FactKind.FAILED, code=131050, reason="131050", suppress=True))
    await sending.record(sending.fact(2, FactKind.FAILED, code=131050, reason="131050", suppress=True))
    rows = await sending.connection.fetch("SELECT phone, reason FROM suppressions")
    phone = await sending.connection.fetchval("SELECT phone FROM recipients WHERE seq = 2")
    assert [tuple(row) for row in rows] == [(phone, "opted out (131050)")]


async def test_an_opt_out_covers_every_spelling_of_the_phone(sending: Sending) -> None:
    await sending.connection.execute("UPDATE recipients SET phone = 551187654321 WHERE seq = 2")
    await sending.record(sending.fact(2, FactKind.FAILED, code=131050, reason="131050", suppress=True))
    rows = await sending.connection.fetch("SELECT phone FROM suppressions ORDER BY phone")
    assert [row["phone"] for row in rows] == [551187654321, 5511987654321]


async def test_codes_and_reasons_belong_to_their_own_recipients(sending: Sending) -> None:
    await sending.record(
        sending.fact(1, FactKind.ACCEPTED),
        sending.fact(2, FactKind.FAILED, code=0, reason="zero"),
        sending.fact(3, FactKind.ACCEPTED),
        sending.fact(4, FactKind.FAILED, code=131026, reason="131026"),
    )
    await sending.record(sending.fact(5, FactKind.FAILED, code=0, reason=None))
    rows = await sending.connection.fetch("SELECT seq, code, reason FROM outcomes ORDER BY seq")
    assert [tuple(row) for row in rows] == [
        (1, None, None), (2, 0, "zero"), (3, None, None), (4, 131026, "131026"), (5, 0, None),
    ]  # fmt: skip


async def test_a_reason_with_a_nul_or_without_end_is_stored_readably(sending: Sending) -> None:
    await sending.record(
        sending.fact(1, FactKind.FAILED, reason="odd\x00reply"),
        sending.fact(2, FactKind.UNKNOWN, reason="x" * 9_999),
    )
    rows = await sending.connection.fetch("SELECT reason FROM recipient_states WHERE seq <= 2 ORDER BY seq")
    assert [row["reason"] for row in rows] == ["odd reply", "x" * REASON_CHARACTERS_MAX]


def attempts(sending: Sending, batch: int, results_writer: str = "one") -> AttemptCounts:
    return AttemptCounts(
        sending.held.campaign_id, SLOW, 80.0, 10, 8, 2, 0.5, 0.01, NOON_US, NOON_US, results_writer, batch
    )


async def counted(sending: Sending) -> tuple[object, ...]:
    row = await sending.connection.fetchrow(
        "SELECT attempts, accepted, throttled, active_s FROM campaign_numbers"
    )
    assert row is not None
    return tuple(row)


async def test_reply_times_add_up_by_bucket_and_only_where_they_were_counted(sending: Sending) -> None:
    for batch, replies in ((1, None), (2, [1, 2, 3]), (3, None), (4, [10, 0, 5])):
        counted_now = replace(attempts(sending, batch), reply_counts=replies)
        await record(sending.connection, [], [counted_now])
    assert await sending.connection.fetchval("SELECT reply_counts FROM campaign_numbers") == [11, 2, 8]


async def test_what_a_number_did_adds_up(sending: Sending) -> None:
    await record(sending.connection, [], [attempts(sending, 1)])
    await record(sending.connection, [], [attempts(sending, 2)])
    await record(sending.connection, [], [attempts(sending, 1, "another")])
    assert await counted(sending) == (30, 24, 6, 1.5)


async def test_the_first_and_the_last_attempt_and_the_latest_limit_are_kept(sending: Sending) -> None:
    for batch, (limit_per_s, first_us, last_us) in enumerate(((80.0, 5, 6), (120.0, 3, 9), (100.0, 4, 8)), 1):
        told = replace(
            attempts(sending, batch),
            limit_per_s=limit_per_s,
            first_attempt_us=NOON_US + first_us,
            last_attempt_us=NOON_US + last_us,
        )
        await record(sending.connection, [], [told])
    row = await sending.connection.fetchrow(
        "SELECT limit_per_s, cpu_s, first_attempt_at, last_attempt_at FROM campaign_numbers"
    )
    assert row is not None
    first, last = (NOON + timedelta(microseconds=late_us) for late_us in (3, 9))
    assert tuple(row) == (100.0, pytest.approx(0.03), first, last)


async def test_a_batch_that_is_replayed_after_a_lost_commit_counts_its_attempts_once(
    sending: Sending,
) -> None:
    for batch in (1, 1, 2, 2, 1):
        for facts in ([sending.fact(1, FactKind.ACCEPTED)], [sending.fact(2, FactKind.DEFERRED)], []):
            await record(sending.connection, facts, [attempts(sending, batch)])
    assert await counted(sending) == (20, 16, 4, 1.0)


async def test_a_reply_after_its_own_event_adds_when_it_was_sent(sending: Sending) -> None:
    """An event that is applied before the reply writes the row, and does not know."""
    for seq, wamid in ((1, "'wamid.1.1'"), (2, "NULL")):  # a person said that the second was sent
        await sending.connection.execute(
            "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid)"
            f" VALUES ($1, $2, 1, 1, 1, 1, $3, {wamid})",
            sending.held.range_id,
            seq,
            SLOW,
        )
    await sending.connection.execute("UPDATE range_counters SET accepted = 2")
    replies = [sending.fact(seq, FactKind.ACCEPTED, attempted_us=NOON_US) for seq in (1, 2, 3)]
    later = [reply._replace(attempted_us=NOON_US + 1) for reply in replies]
    await sending.record(*replies)
    await sending.record(*later)
    rows = await sending.connection.fetch("SELECT wamid, attempted_at FROM outcomes ORDER BY seq")
    assert [tuple(row) for row in rows] == [(f"wamid.{seq}.1", NOON) for seq in (1, 2, 3)]


async def test_a_reply_completes_only_its_own_attempt(sending: Sending) -> None:
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    await sending.retry(1)
    await sending.record(
        sending.fact(1, FactKind.ACCEPTED)
    )  # an event does not say when the message was sent
    await sending.record(sending.fact(1, FactKind.ACCEPTED, 2, attempted_us=NOON_US))
    rows = await sending.connection.fetch(
        "SELECT attempt_no, wamid, attempted_at FROM outcomes ORDER BY attempt_no"
    )
    assert [tuple(row) for row in rows] == [(1, "wamid.1.1", None), (2, "wamid.1.2", NOON)]


async def test_only_its_own_claim_defers_a_later_attempt(sending: Sending) -> None:
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    await sending.retry(1)
    other = sending.fact(1, FactKind.DEFERRED, 2)._replace(epoch=sending.lease.epoch + 1)
    for kind in (FactKind.DEFERRED, FactKind.UNKNOWN):
        await sending.record(other._replace(kind=kind))
        assert await sending.pending_attempts() == [(1, 2, "claimed")]
    await sending.record(sending.fact(1, FactKind.DEFERRED, 2))
    assert await sending.pending_attempts() == [(1, 2, "deferred")]


async def beside(sending: Sending) -> Sending:
    """Another campaign of the same number, claimed as far."""
    planted = await plant_campaign(sending.connection)
    held = await take_range(sending.connection, sending.lease, planted.campaign_id)
    assert held is not None
    await advance_watermark(sending.connection, sending.lease, held, 8, [])
    return Sending(sending.connection, sending.lease, held)


async def test_a_campaign_that_was_cancelled_skips_nobody_of_another(sending: Sending) -> None:
    cancelled = await beside(sending)
    await sending.record(sending.fact(1, FactKind.DEFERRED))
    await close_ranges(sending.connection, cancelled.held.campaign_id, "cancelled")
    await cancelled.record(cancelled.fact(1, FactKind.DEFERRED))
    await sending.record(
        sending.fact(2, FactKind.DEFERRED), sending.fact(3, FactKind.DEFERRED, reason="resend")
    )
    assert await sending.pending_attempts() == [(seq, 1, "deferred") for seq in (1, 2, 3)]


async def test_a_fact_says_nothing_of_the_same_place_in_another_range(sending: Sending) -> None:
    other = await beside(sending)
    for sender in (sending, other):
        await sender.record(
            *(sender.fact(seq, FactKind.DEFERRED) for seq in (1, 2, 3)), sender.fact(4, FactKind.UNKNOWN)
        )
    await other.retry(3)
    await other.record(
        other.fact(1, FactKind.ACCEPTED), other.fact(2, FactKind.FAILED), other.fact(3, FactKind.DEFERRED, 2),
        other.fact(4, FactKind.DEFERRED), other.fact(5, FactKind.ACCEPTED), other.fact(6, FactKind.ACCEPTED),
    )  # fmt: skip
    await sending.record(sending.fact(5, FactKind.DEFERRED), sending.fact(6, FactKind.UNKNOWN))
    rows = await sending.connection.fetch(
        "SELECT range_id, state FROM recipient_states ORDER BY range_id, seq"
    )
    told = {
        sender: [row["state"] for row in rows if row["range_id"] == sender.held.range_id]
        for sender in (sending, other)
    }
    assert told[sending] == ["deferred"] * 3 + ["unknown", "deferred", "unknown"] + ["pending"] * 4
    assert (
        told[other]
        == ["accepted", "failed", "deferred", "deferred", "accepted", "accepted"] + ["pending"] * 4
    )
