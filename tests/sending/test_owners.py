"""A number that changes its owner: nobody twice, nobody lost, nothing written too early."""

import pytest

from drumbeat.engine.errors import TryLater
from drumbeat.engine.store.claims import advance_watermark
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import take_range
from tests.sending.planted import FAST, SLOW, another_process, counts, plant_numbers, planted
from tests.sending.running import (
    HIGH_RATE_PER_S,
    accepted_phones,
    assert_counts,
    assert_each_once,
    fault,
    run_to_end,
    serving,
    started,
    until,
)


async def test_an_owner_that_loses_its_number_stops_and_stores_what_it_still_hears(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 600, rate_per_s=200, range_size=200)
    async with serving(fault("latency", median_ms=300)) as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(emulator.service.ledger) >= 100)
            async with elsewhere.transaction():  # or the owner renews between the two
                await elsewhere.execute("UPDATE numbers SET leased_until = now() - interval '1 s'")
                await take_lease(elsewhere, SLOW, another_process())
            with pytest.raises(TryLater, match="taken over"):
                await runner.end()
        sent = len(emulator.service.ledger)
        stored = await elsewhere.fetchval("SELECT count(*) FROM outcomes WHERE kind = 1")
        assert stored == sent, "every reply that came is stored, whoever owns the number"
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert max(accepted_phones(emulator).values()) == 1
        counted = await counts(elsewhere, campaign.campaign_id)
        assert set(counted) <= {"accepted", "unknown"}
        assert counted["accepted"] == len(emulator.service.ledger)
        assert counted["unknown"] == 0, "what was not written was stored as deferred"


async def test_what_a_dead_owner_had_claimed_is_in_doubt_and_never_sent_again(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 50, HIGH_RATE_PER_S, range_size=25)
    dead = await take_lease(elsewhere, SLOW, another_process())
    held = await take_range(elsewhere, dead, campaign.campaign_id)
    assert held is not None
    await advance_watermark(elsewhere, dead, held, 10, [])
    async with serving() as emulator:
        ended = await run_to_end(pool, emulator, campaign)
        assert (ended.state, ended.reason) == ("finished", "10 in doubt: see `campaign settle`")
        assert accepted_phones(emulator).keys() == set(campaign.phones[10:])
    await assert_counts(pool, campaign, accepted=40, unknown=10)


async def test_a_new_owner_writes_nothing_while_claims_of_the_former_one_are_valid(
    pool: Pool, elsewhere: Connection
) -> None:
    """Three seconds after the lease expired, by the clock of the ledger."""
    campaign = await planted(pool, 5, HIGH_RATE_PER_S)
    await take_lease(elsewhere, SLOW, another_process(boot="elsewhere"))
    await elsewhere.execute("UPDATE numbers SET leased_until = now() - interval '1 ms'")
    async with serving() as emulator:
        begun_ns = emulator.service.clock.now_ns()
        await run_to_end(pool, emulator, campaign)
        first = next(emulator.service.ledger.rows(0, 1))
        assert first["received_at_ns"] - begun_ns >= 3_000_000_000
        assert_each_once(emulator, campaign)


async def test_ranges_of_a_number_that_nobody_serves_any_more_are_sent_by_the_others(
    pool: Pool, elsewhere: Connection
) -> None:
    campaign = await planted(pool, 60, HIGH_RATE_PER_S, range_size=20, numbers=(SLOW, FAST))
    await plant_numbers(elsewhere, **{FAST: 100})
    gone = await take_lease(elsewhere, FAST, another_process(boot="elsewhere"))
    held = await take_range(elsewhere, gone, campaign.campaign_id)
    assert held is not None
    await advance_watermark(elsewhere, gone, held, 3, [])
    await elsewhere.execute(
        "UPDATE numbers SET leased_until = now() - interval '2 minutes' WHERE phone_number_id = $1", FAST
    )
    async with serving(**{SLOW: HIGH_RATE_PER_S, FAST: 100}) as emulator:
        assert (await run_to_end(pool, emulator, campaign, (SLOW,))).state == "finished"
        assert accepted_phones(emulator).keys() == set(campaign.phones[3:])
    await assert_counts(pool, campaign, accepted=57, unknown=3)
