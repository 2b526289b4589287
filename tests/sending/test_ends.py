"""Windows and start times, campaigns that end early, and processes that drain."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from drumbeat.emulator.testing import Emulator
from drumbeat.engine.sending import worker
from drumbeat.engine.sending.messages import GrantedClaims
from drumbeat.engine.sending.retries import Retries
from drumbeat.engine.sending.timing import Timing
from drumbeat.engine.store.claims import advance_watermark
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import take_range
from drumbeat.engine.store.recording import record
from tests.sending.planted import (
    SLOW,
    another_process,
    campaign_row,
    counts,
    planted,
)
from tests.sending.running import (
    HIGH_RATE_PER_S,
    QUICK,
    accepted_phones,
    assert_counts,
    assert_each_once,
    fault,
    received_ns,
    run_to_end,
    serving,
    started,
    until,
)

SECOND_NS = 1_000_000_000


def late(emulator: Emulator, since_ns: int) -> int:
    """How many messages were received more than a second after a moment."""
    return sum(at > since_ns + SECOND_NS for at in received_ns(emulator, SLOW))


async def test_outside_its_hours_a_campaign_waits_with_its_reason_and_nothing_is_marked(
    pool: Pool, elsewhere: Connection
) -> None:
    now = datetime.now(UTC)
    closed = ((now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time())
    campaign = await planted(pool, 50, HIGH_RATE_PER_S, window=closed)

    async def renewed() -> bool:
        leased_until = await elsewhere.fetchval("SELECT leased_until FROM numbers")
        return leased_until - first_leased_until > timedelta(seconds=0.7)

    async def waits() -> bool:
        return (await campaign_row(elsewhere, campaign.campaign_id))[1] != ""

    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(waits)
        await until(lambda: elsewhere.fetchval("SELECT leased_until IS NOT NULL FROM numbers"))
        first_leased_until = await elsewhere.fetchval("SELECT leased_until FROM numbers")
        await until(renewed)  # the number had its chance to claim
        state, reason = await campaign_row(elsewhere, campaign.campaign_id)
        assert state == "running"
        assert reason == f"waiting: quiet hours until {closed[0]:%H:%M} UTC"
        assert (
            await elsewhere.fetchval("SELECT max(claimed_through) FROM ranges"),
            len(emulator.service.ledger),
        ) == (
            0,
            0,
        )
        assert (await runner.drained()).state == "running"
        await elsewhere.execute("UPDATE campaigns SET window_opens = NULL, window_closes = NULL")
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)
    assert await campaign_row(elsewhere, campaign.campaign_id) == ("finished", "")


async def test_outside_its_hours_a_campaign_makes_no_later_attempt(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    closed = ((now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time())
    campaign = await planted(pool, 5, HIGH_RATE_PER_S, window=closed)
    dead = await take_lease(elsewhere, SLOW, another_process())
    held = await take_range(elsewhere, dead, campaign.campaign_id)
    assert held is not None
    await advance_watermark(elsewhere, dead, held, 5, [])
    who = (campaign.campaign_id, held.range_id)
    deferred = [
        Fact(*who, seq, 1, dead.epoch, SLOW, FactKind.DEFERRED, reason="131016") for seq in range(1, 6)
    ]
    await record(elsewhere, deferred)

    lookups, real = 0, Retries.claim

    async def counted_claim(self: Retries, now_ns: int, limit: int) -> GrantedClaims:
        nonlocal lookups
        lookups += bool(self._feeder.held)
        return await real(self, now_ns, limit)

    monkeypatch.setattr(Retries, "claim", counted_claim)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: lookups > 20)
        assert len(emulator.service.ledger) == 0
        await runner.drained()
        await elsewhere.execute("UPDATE campaigns SET window_opens = NULL, window_closes = NULL")
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)


async def test_an_expired_campaign_ends_and_skips_whoever_was_not_sent_to(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 2_000, 100, range_size=150)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: len(emulator.service.ledger) >= 20)
        await elsewhere.execute("UPDATE campaigns SET expires_at = now()")
        expired_ns = time.monotonic_ns()
        ended = await runner.end()
        assert (ended.state, ended.reason) == ("expired", "its time is over")
        assert late(emulator, expired_ns) == 0
        sent = len(emulator.service.ledger)
    await assert_counts(pool, campaign, accepted=sent, skipped=2_000 - sent)
    reasons = await elsewhere.fetch("SELECT DISTINCT reason FROM recipient_states WHERE state = 'skipped'")
    assert [row["reason"] for row in reasons] == ["expired"]


@pytest.mark.parametrize("state", ["expired", "cancelled"])
async def test_the_end_of_a_campaign_that_a_kill_interrupted_is_finished(
    pool: Pool, elsewhere: Connection, state: str
) -> None:
    """The process that ended it died after it set the state and before it closed the last range."""
    campaign = await planted(pool, 60, HIGH_RATE_PER_S, range_size=20, state=state)

    async def all_skipped() -> bool:
        return await counts(elsewhere, campaign.campaign_id) == {"skipped": 60}

    async with serving() as emulator, started(pool, emulator):
        await until(all_skipped)
        assert len(emulator.service.ledger) == 0
    reasons = await elsewhere.fetch("SELECT DISTINCT reason FROM recipient_states")
    assert [row["reason"] for row in reasons] == [state]


async def test_the_end_that_a_kill_interrupted_reaches_ranges_that_a_living_worker_holds(
    pool: Pool, elsewhere: Connection
) -> None:
    """The worker may run for days, and the recipients would stay pending until then."""
    timing = replace(QUICK, unclosed_period_s=0.1)
    campaign = await planted(pool, 600, 100)
    async with serving() as emulator, started(pool, emulator, timing=timing) as worker:
        await until(lambda: len(emulator.service.ledger) >= 20)
        await elsewhere.execute(
            "UPDATE campaigns SET state = 'expired', finished_at = now() - interval '1 hour'"
        )

        async def all_ended() -> bool:
            counted = await counts(elsewhere, campaign.campaign_id)
            return counted.keys() == {"accepted", "skipped"}

        await until(all_ended)
        assert not worker.task.done()


async def test_a_scheduled_campaign_starts_when_its_time_has_come(pool: Pool, elsewhere: Connection) -> None:
    await planted(pool, 30, HIGH_RATE_PER_S, state="scheduled")
    await elsewhere.execute("UPDATE campaigns SET start_at = now() + interval '1 hour'")
    async with serving() as emulator, started(pool, emulator) as worker:
        number_taken = "SELECT rate_per_s IS NOT NULL FROM numbers"
        await until(lambda: elsewhere.fetchval(number_taken))
        assert await elsewhere.fetchval("SELECT max(claimed_through) FROM ranges") == 0
        await elsewhere.execute("UPDATE campaigns SET start_at = now()")
        await until(lambda: len(emulator.service.ledger) == 30)
        assert not worker.task.done()


@pytest.mark.parametrize("latency_ms", [0, 400])
async def test_a_stop_drains_and_a_rerun_finishes(pool: Pool, elsewhere: Connection, latency_ms: int) -> None:
    """No recipient is in doubt, ranges and numbers are released, and a rerun sends the rest."""
    campaign = await planted(pool, 400, 300, range_size=150)
    async with serving(fault("latency", median_ms=latency_ms)) as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(emulator.service.ledger) >= 80)
            ended = await runner.drained()
        assert (ended.state, ended.drained) == ("running", True)
        counted = await counts(elsewhere, campaign.campaign_id)
        assert set(counted) <= {"accepted", "deferred", "pending"}
        assert counted["accepted"] == len(emulator.service.ledger) < 400
        await assert_counts(pool, campaign, **counted)
        held = await elsewhere.fetchval("SELECT count(*) FROM ranges WHERE phone_number_id IS NOT NULL")
        assert (held, await elsewhere.fetchval("SELECT released FROM numbers")) == (0, True)
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)


async def test_a_drain_begins_when_nothing_else_is_done_in_the_database(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that breaks under a cancellation hides it from its task, which could take numbers again."""
    busy = asyncio.Event()
    going_on: list[asyncio.Task[object]] = []

    async def recover_abandoned_numbers(*_: object) -> None:
        busy.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            monkeypatch.undo()
            raise ConnectionResetError("cut by the test") from None

    async def drain(self: worker.Worker) -> bool:
        going_on.extend(task for task in asyncio.all_tasks() if "_control" in repr(task.get_coro()))
        return await real_drain(self)

    real_drain = worker.Worker._drain
    await planted(pool, 400, 300)
    async with serving() as emulator:
        with pytest.MonkeyPatch.context() as drained:
            drained.setattr(worker.Worker, "_drain", drain)
            monkeypatch.setattr(worker, "recover_abandoned_numbers", recover_abandoned_numbers)
            async with started(pool, emulator) as runner:
                await busy.wait()
                await runner.drained()
    assert going_on == []


async def test_a_drain_waits_for_no_reply_longer_than_it_may(pool: Pool, elsewhere: Connection) -> None:
    """Requests without a reply in time are in doubt at once."""
    campaign = await planted(pool, 100, 100)
    async with serving(fault("latency", count=5, median_ms=20_000)) as emulator:
        async with started(pool, emulator, campaign, timing=Timing()) as runner:
            await until(lambda: len(emulator.service.ledger) >= 30)
            begun = time.monotonic()
            ended = await runner.drained()
            assert time.monotonic() - begun < 5.0, "a signal ends the process within five seconds"
        assert ended.drained
        assert (await counts(elsewhere, campaign.campaign_id))["unknown"] == 5
        assert (await run_to_end(pool, emulator, campaign)).reason.startswith("5 in doubt")
        assert max(accepted_phones(emulator).values()) == 1
