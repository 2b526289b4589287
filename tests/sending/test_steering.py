"""Other processes steer a run: pause, resume, cancel, limits, and a second runner."""

import time
from collections import Counter

import pytest

from drumbeat.emulator.testing import Emulator
from drumbeat.engine.core.states import CampaignEvent, EvidenceRank
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.sending.timing import Timing
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import NumberHeld, take_lease
from drumbeat.engine.store.status_applier import apply_statuses
from tests.kit.planted import put_in_inbox, status_event
from tests.sending.planted import (
    SLOW,
    Planted,
    another_process,
    counts,
    plant_campaign,
    plant_numbers,
    planted,
)
from tests.sending.running import (
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


async def say(connection: Connection, campaign: Planted, event: CampaignEvent) -> int:
    """Apply a person's action. Returns when it was committed, on the ledger's clock."""
    await apply_event(connection, campaign.campaign_id, event, f"{event} by hand")
    return time.monotonic_ns()


def late(emulator: Emulator, since_ns: int) -> int:
    """How many messages were received more than a second after a moment."""
    return sum(at > since_ns + SECOND_NS for at in received_ns(emulator, SLOW))


async def test_a_pause_takes_effect_within_a_second_and_a_resume_reaches_everybody_once(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 500, 200)
    other = None
    async with pool.acquire() as connection:
        other = await plant_campaign(connection, recipients=700)
    async with serving() as emulator, started(pool, emulator, timing=Timing()) as worker:
        await until(lambda: len(emulator.service.ledger) >= 60)
        paused_ns = await say(elsewhere, campaign, CampaignEvent.PAUSE)
        claimed_through = sum(phone in set(campaign.phones) for phone in accepted_phones(emulator))
        await until(lambda: late(emulator, paused_ns) >= 60)  # the other campaign continues
        rows = [
            row for row in emulator.service.ledger.rows(0, 2_000) if int(row["to"]) in set(campaign.phones)
        ]
        assert not [row for row in rows if row["received_at_ns"] > paused_ns + SECOND_NS]
        assert claimed_through <= len(rows) < 500
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
        async with started(pool, emulator, campaign, timing=Timing()) as runner:
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


async def test_a_worker_releases_the_ranges_of_a_cancelled_campaign(
    pool: Pool, elsewhere: Connection
) -> None:
    """Otherwise its pages would stay in memory, campaign by campaign."""
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
    async with serving() as emulator, started(pool, emulator, campaign, timing=Timing()) as runner:
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
    async with serving() as emulator, started(pool, emulator, campaign, timing=Timing()) as runner:
        await until(lambda: len(emulator.service.ledger) >= 5)
        await elsewhere.execute("UPDATE numbers SET manual_limit_per_s = 500")
        assert (await runner.end()).state == "finished"
        times = received_ns(emulator, SLOW)
        assert times[-1] - times[0] < 10 * SECOND_NS, "20 s at the old limit"
        assert_each_once(emulator, campaign)


async def test_the_error_of_a_second_runner_names_the_first(pool: Pool) -> None:
    campaign = await planted(pool, 100, 100)
    async with serving() as emulator, started(pool, emulator, campaign) as first:
        await until(lambda: len(emulator.service.ledger) >= 1)
        with pytest.raises(NumberHeld, match=f"{SLOW} is sending for .*, process \\d+") as held:
            await run_to_end(pool, emulator, campaign)
        assert held.value.exit_code == 75
        assert (await first.end()).state == "finished", "the first does not notice"
        assert_each_once(emulator, campaign)


async def test_a_refused_runner_releases_its_leases(pool: Pool, elsewhere: Connection) -> None:
    campaign = await planted(pool, 10, 100)
    await plant_numbers(elsewhere, **{"2": 100})
    await take_lease(elsewhere, "2", another_process(boot="elsewhere"))
    async with serving() as emulator:
        with pytest.raises(NumberHeld):
            await run_to_end(pool, emulator, campaign, (SLOW, "2"))
        assert await elsewhere.fetchval("SELECT released FROM numbers WHERE phone_number_id = $1", SLOW)


async def test_a_runner_of_an_unknown_number_releases_the_others(pool: Pool, elsewhere: Connection) -> None:
    campaign = await planted(pool, 10, 100)
    async with serving() as emulator:
        with pytest.raises(ConfigurationError, match="no number nobodys"):
            await run_to_end(pool, emulator, campaign, (SLOW, "nobodys"))
        assert await elsewhere.fetchval("SELECT released FROM numbers WHERE phone_number_id = $1", SLOW)


async def test_a_resume_after_a_restored_backup_leaves_out_recipients_with_events(
    pool: Pool, elsewhere: Connection
) -> None:
    """The backup has no recipient who was sent to. Statuses name them, before and after the page is read."""
    campaign = await planted(pool, 300, 200)
    sent = {"first": campaign.phones[3], "late": campaign.phones[290]}

    async def tell(seq: int) -> None:
        installation = await elsewhere.fetchval("SELECT installation FROM installation")
        tag = Tag(installation, campaign.range_ids[0], seq, 1, 1)
        await put_in_inbox(elsewhere, status_event(f"wamid.{seq}", EvidenceRank.SENT, tag))
        assert (await apply_statuses(elsewhere)).matched == 1

    await tell(4)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: len(emulator.service.ledger) >= 20)
        await tell(291)
        assert (await runner.end()).state == "finished"
        assert accepted_phones(emulator) == Counter(set(campaign.phones) - set(sent.values()))
    await assert_counts(pool, campaign, accepted=298, sent=2)
