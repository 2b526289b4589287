"""People steer a run from elsewhere: pause, resume, cancel, limits, hours, expiry, stops, and a second runner."""

import asyncio
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from emulator.testing import Emulator
from engine import campaign_board, worker
from engine.core.states import CampaignEvent, Status
from engine.core.tag import Tag
from engine.errors import ConfigurationError
from engine.flow import Granted
from engine.retries import Retries
from engine.store.campaign_states import apply_event
from engine.store.claims import raise_mark, take_range
from engine.store.closing import close_ranges
from engine.store.database import Connection, Pool, connect
from engine.store.facts import Fact, FactKind
from engine.store.leases import NumberHeld, take
from engine.store.recording import record
from engine.webhooks.folder import fold_batch
from tests.flow.planted import (
    SLOW,
    Planted,
    another_process,
    campaign_row,
    counts,
    plant_campaign,
    plant_numbers,
)
from tests.flow.running import (
    HIGH_RATE_PER_S,
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
from tests.webhooks.planted import put_in_inbox, status_event

SECOND_NS = 1_000_000_000


@pytest.fixture
async def elsewhere(database_url: str):
    """The connection of somebody else."""
    connection = await connect(database_url)
    yield connection
    await connection.close()


async def planted(pool: Pool, recipients: int, rate_per_s: float, **others: object) -> Planted:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: rate_per_s})
        return await plant_campaign(connection, recipients=recipients, **others)  # type: ignore[arg-type]


async def say(connection: Connection, campaign: Planted, event: CampaignEvent) -> int:
    """A person's word; returns when it was committed, on the ledger's clock."""
    await apply_event(connection, campaign.campaign_id, event, f"{event} by hand")
    return time.monotonic_ns()


def late(emulator: Emulator, since_ns: int) -> int:
    """Messages received more than a second after a moment."""
    return sum(at > since_ns + SECOND_NS for at in received_ns(emulator, SLOW))


async def test_a_pause_takes_effect_within_a_second_and_a_resume_reaches_everybody_once(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 500, 200)
    other = None
    async with pool.acquire() as connection:
        other = await plant_campaign(connection, recipients=700)
    async with serving() as emulator, started(pool, emulator) as worker:
        await until(lambda: len(emulator.service.ledger) >= 60)
        paused_ns = await say(elsewhere, campaign, CampaignEvent.PAUSE)
        mark = sum(phone in set(campaign.phones) for phone in accepted_phones(emulator))
        await until(lambda: late(emulator, paused_ns) >= 60)  # the other campaign goes on
        rows = [
            row for row in emulator.service.ledger.rows(0, 2_000) if int(row["to"]) in set(campaign.phones)
        ]
        assert not [row for row in rows if row["received_at_ns"] > paused_ns + SECOND_NS]
        assert mark <= len(rows) < 500
        resumed_ns = await say(elsewhere, campaign, CampaignEvent.RESUME)
        await until(lambda: accepted_phones(emulator).total() == 1_200)
        later = [row["received_at_ns"] for row in emulator.service.ledger.rows(0, 2_000)
                 if int(row["to"]) in set(campaign.phones) and row["received_at_ns"] > resumed_ns]  # fmt: skip
        assert min(later) < resumed_ns + 2 * SECOND_NS
        await worker.drained()
        assert_each_once(emulator, campaign, other)


async def test_a_cancel_takes_effect_within_a_second_and_skips_whoever_was_not_claimed(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 600, 200, range_size=200)
    async with serving(fault("refusal", 0.2, code=131016)) as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(emulator.service.ledger) >= 60)
            cancelled_ns = await say(elsewhere, campaign, CampaignEvent.CANCEL)
            await close_ranges(elsewhere, campaign.campaign_id, "cancelled")
            ended = await runner.end()
        assert (ended.state, ended.drained) == ("cancelled", True)
        assert late(emulator, cancelled_ns) == 0
        sent = len(emulator.service.ledger)
    counted = await counts(elsewhere, campaign.campaign_id)
    assert set(counted) <= {"accepted", "skipped", "failed"}
    assert counted["accepted"] == sent
    await assert_counts(pool, campaign, **counted)
    rows = await elsewhere.fetch("SELECT phone_number_id FROM ranges WHERE phone_number_id IS NOT NULL")
    assert rows == []


@pytest.mark.usefixtures("quick")
async def test_a_worker_lets_go_of_the_ranges_of_a_cancelled_campaign(
    pool: Pool, elsewhere: Connection
) -> None:
    """Its own pages would otherwise pile up, campaign by campaign."""
    campaign = await planted(pool, 600, 200, range_size=200)
    async with serving() as emulator, started(pool, emulator) as worker:
        await until(lambda: len(emulator.service.ledger) >= 60)
        await say(elsewhere, campaign, CampaignEvent.CANCEL)
        await close_ranges(elsewhere, campaign.campaign_id, "cancelled")

        async def held_by_nobody() -> bool:
            held = "SELECT count(*) FROM ranges WHERE phone_number_id IS NOT NULL"
            return await elsewhere.fetchval(held) == 0

        await until(held_by_nobody)
        assert not worker.task.done()


async def test_a_limit_that_is_lowered_by_hand_holds_within_a_second(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 2_000, 300)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: len(emulator.service.ledger) >= 100)
        await elsewhere.execute("UPDATE numbers SET manual_limit_per_s = 40")
        lowered_ns = time.monotonic_ns()
        await until(lambda: time.monotonic_ns() > lowered_ns + 3 * SECOND_NS)
        await runner.drained()
        after = [at for at in received_ns(emulator, SLOW) if at > lowered_ns + SECOND_NS]
    # Writes of the second before the change count: the new limit holds over each of its own seconds.
    worst = max(sum(at <= other < at + SECOND_NS for other in after) for at in after)
    assert 20 < worst <= 42, "40 and what the way to the service compresses"


async def test_a_limit_that_is_raised_by_hand_is_used_within_a_second(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 400, 20)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: len(emulator.service.ledger) >= 5)
        await elsewhere.execute("UPDATE numbers SET manual_limit_per_s = 500")
        assert (await runner.end()).state == "finished"
        times = received_ns(emulator, SLOW)
        assert times[-1] - times[0] < 10 * SECOND_NS, "20 s at the old limit"
        assert_each_once(emulator, campaign)


@pytest.mark.usefixtures("quick")
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
        assert (await elsewhere.fetchval("SELECT max(mark) FROM ranges"), len(emulator.service.ledger)) == (
            0,
            0,
        )
        assert (await runner.drained()).state == "running"
        await elsewhere.execute("UPDATE campaigns SET window_opens = NULL, window_closes = NULL")
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)
    assert await campaign_row(elsewhere, campaign.campaign_id) == ("finished", "")


@pytest.mark.usefixtures("quick")
async def test_outside_its_hours_a_campaign_tries_nobody_again(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    closed = ((now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time())
    campaign = await planted(pool, 5, HIGH_RATE_PER_S, window=closed)
    dead = await take(elsewhere, SLOW, another_process())
    held = await take_range(elsewhere, dead, campaign.campaign_id)
    assert held is not None
    await raise_mark(elsewhere, dead, held, 5, [])
    who = (campaign.campaign_id, held.range_id)
    deferred = [
        Fact(*who, seq, 1, dead.epoch, SLOW, FactKind.DEFERRED, reason="131016") for seq in range(1, 6)
    ]
    await record(elsewhere, deferred)

    looks, real = 0, Retries.claim

    async def look(self: Retries, now_ns: int, room: int) -> Granted:
        nonlocal looks
        looks += bool(self._feeder.held)
        return await real(self, now_ns, room)

    monkeypatch.setattr(Retries, "claim", look)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: looks > 20)
        assert len(emulator.service.ledger) == 0
        await runner.drained()
        await elsewhere.execute("UPDATE campaigns SET window_opens = NULL, window_closes = NULL")
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)


@pytest.mark.usefixtures("quick")
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


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("state", ["expired", "cancelled"])
async def test_the_end_of_a_campaign_that_a_kill_interrupted_is_finished(
    pool: Pool, elsewhere: Connection, state: str
) -> None:
    """Whoever ended it died between the new state and the last of the ranges."""
    campaign = await planted(pool, 60, HIGH_RATE_PER_S, range_size=20, state=state)

    async def all_skipped() -> bool:
        return await counts(elsewhere, campaign.campaign_id) == {"skipped": 60}

    async with serving() as emulator, started(pool, emulator):
        await until(all_skipped)
        assert len(emulator.service.ledger) == 0
    reasons = await elsewhere.fetch("SELECT DISTINCT reason FROM recipient_states")
    assert [row["reason"] for row in reasons] == [state]


@pytest.mark.usefixtures("quick")
async def test_the_end_that_a_kill_interrupted_reaches_ranges_that_a_living_worker_holds(
    pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on for days, and would keep their recipients pending for as long."""
    monkeypatch.setattr(campaign_board, "UNCLOSED_PERIOD_S", 0.1)
    campaign = await planted(pool, 600, 100)
    async with serving() as emulator, started(pool, emulator) as worker:
        await until(lambda: len(emulator.service.ledger) >= 20)
        await elsewhere.execute(
            "UPDATE campaigns SET state = 'expired', finished_at = now() - interval '1 hour'"
        )

        async def all_ended() -> bool:
            counted = await counts(elsewhere, campaign.campaign_id)
            return counted.keys() == {"accepted", "skipped"}

        await until(all_ended)
        assert not worker.task.done()


@pytest.mark.usefixtures("quick")
async def test_a_scheduled_campaign_starts_when_its_time_has_come(pool: Pool, elsewhere: Connection) -> None:
    await planted(pool, 30, HIGH_RATE_PER_S, state="scheduled")
    await elsewhere.execute("UPDATE campaigns SET start_at = now() + interval '1 hour'")
    async with serving() as emulator, started(pool, emulator) as worker:
        number_taken = "SELECT rate_per_s IS NOT NULL FROM numbers"
        await until(lambda: elsewhere.fetchval(number_taken))
        assert await elsewhere.fetchval("SELECT max(mark) FROM ranges") == 0
        await elsewhere.execute("UPDATE campaigns SET start_at = now()")
        await until(lambda: len(emulator.service.ledger) == 30)
        assert not worker.task.done()


async def test_a_second_runner_is_told_who_sends(pool: Pool) -> None:
    campaign = await planted(pool, 100, 100)
    async with serving() as emulator, started(pool, emulator, campaign) as first:
        await until(lambda: len(emulator.service.ledger) >= 1)
        with pytest.raises(NumberHeld, match=f"{SLOW} is sending for .*, process \\d+") as held:
            await run_to_end(pool, emulator, campaign)
        assert held.value.exit_code == 75
        assert (await first.end()).state == "finished", "the first does not notice"
        assert_each_once(emulator, campaign)


async def test_a_refused_runner_gives_back_what_it_had_taken(pool: Pool, elsewhere: Connection) -> None:
    campaign = await planted(pool, 10, 100)
    await plant_numbers(elsewhere, **{"2": 100})
    await take(elsewhere, "2", another_process(boot="elsewhere"))
    async with serving() as emulator:
        with pytest.raises(NumberHeld):
            await run_to_end(pool, emulator, campaign, (SLOW, "2"))
        assert await elsewhere.fetchval("SELECT released FROM numbers WHERE phone_number_id = $1", SLOW)


async def test_a_runner_of_a_number_that_nobody_knows_gives_back_the_others(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 10, 100)
    async with serving() as emulator:
        with pytest.raises(ConfigurationError, match="no number nobodys"):
            await run_to_end(pool, emulator, campaign, (SLOW, "nobodys"))
        assert await elsewhere.fetchval("SELECT released FROM numbers WHERE phone_number_id = $1", SLOW)


@pytest.mark.usefixtures("quick")
async def test_a_resume_after_a_restored_backup_leaves_out_whom_events_tell_of(
    pool: Pool, elsewhere: Connection
) -> None:
    """The backup knows of nobody; the service does, and tells: before and after the page was read."""
    campaign = await planted(pool, 300, 200)
    sent = {"first": campaign.phones[3], "late": campaign.phones[290]}

    async def tell(seq: int) -> None:
        installation = await elsewhere.fetchval("SELECT installation FROM installation")
        tag = Tag(installation, campaign.range_ids[0], seq, 1, 1)
        await put_in_inbox(elsewhere, status_event(f"wamid.{seq}", Status.SENT, tag))
        assert (await fold_batch(elsewhere)).matched == 1

    await tell(4)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: len(emulator.service.ledger) >= 20)
        await tell(291)
        assert (await runner.end()).state == "finished"
        assert accepted_phones(emulator) == Counter(set(campaign.phones) - set(sent.values()))
    await assert_counts(pool, campaign, accepted=298, sent=2)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("latency_ms", [0, 400])
async def test_a_stop_drains_and_a_rerun_finishes(pool: Pool, elsewhere: Connection, latency_ms: int) -> None:
    """Nobody is in doubt, ranges and numbers are free, and the rest is sent later."""
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


@pytest.mark.usefixtures("quick")
async def test_a_drain_begins_when_nothing_else_is_done_in_the_database(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that breaks under a cancellation hides it: what goes on could take numbers anew."""
    busy = asyncio.Event()
    going_on: list[asyncio.Task[object]] = []

    async def recover_abandoned(*_: object) -> None:
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
            monkeypatch.setattr(worker, "recover_abandoned", recover_abandoned)
            async with started(pool, emulator) as runner:
                await busy.wait()
                await runner.drained()
    assert going_on == []


async def test_a_drain_waits_for_no_reply_longer_than_it_may(pool: Pool, elsewhere: Connection) -> None:
    """Requests whose reply does not come in time are doubts, named at once."""
    campaign = await planted(pool, 100, 100)
    async with serving(fault("latency", count=5, median_ms=20_000)) as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(emulator.service.ledger) >= 30)
            begun = time.monotonic()
            ended = await runner.drained()
            assert time.monotonic() - begun < 5.0, "a signal ends the process within five seconds"
        assert ended.drained
        assert (await counts(elsewhere, campaign.campaign_id))["unknown"] == 5
        assert (await run_to_end(pool, emulator, campaign)).reason.startswith("5 in doubt")
        assert max(accepted_phones(emulator).values()) == 1
