"""Workers divide numbers: who is added gets a share, who stops gives its share, and nobody is sent to twice."""

from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import take_lease
from tests.sending.planted import Planted, another_process, counts, plant_campaign, plant_numbers
from tests.sending.running import (
    assert_counts,
    assert_each_once,
    fault,
    serving,
    until,
    until_sent,
)
from tests.sending.workers import Workers

NUMBERS = [f"10654035224292{place}" for place in range(6)]
RATES_PER_S = dict.fromkeys(NUMBERS, 100.0)


async def planted(pool: Pool, recipients: int, **options: int) -> Planted:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **RATES_PER_S)
        return await plant_campaign(connection, recipients=recipients, numbers=NUMBERS, **options)  # type: ignore[arg-type]


async def test_a_worker_that_is_added_gets_half_and_nobody_is_sent_to_twice(
    pool: Pool, workers: Workers
) -> None:
    campaign = await planted(pool, 1_500, range_size=50)
    async with (
        serving(fault("latency", median_ms=100), **RATES_PER_S) as emulator,
        workers.on("one", emulator, NUMBERS) as one,
    ):
        await workers.until_shared(one=6)
        await until(lambda: len(emulator.service.ledger) > 100)
        async with workers.on("two", emulator, NUMBERS) as two:
            await workers.until_shared(one=3, two=3)
            await until_sent(emulator, campaign.recipients)
            assert_each_once(emulator, campaign)
            await until(lambda: all_accepted(pool, campaign))
            # Before one stops: the other may take its numbers over in that moment, as it should.
            epochs = await workers.epochs()
            assert (await two.drained()).drained and (await one.drained()).drained
    assert sorted(epochs.values()) == [1, 1, 1, 2, 2, 2], "three numbers moved, once each"
    await assert_counts(pool, campaign, accepted=1_500)


async def all_accepted(pool: Pool, campaign: Planted) -> bool:
    async with pool.acquire() as connection:
        return (await counts(connection, campaign.campaign_id))["accepted"] == campaign.recipients


async def test_a_worker_that_stops_leaves_its_numbers_to_the_others(pool: Pool, workers: Workers) -> None:
    await planted(pool, 10)
    async with serving(**RATES_PER_S) as emulator, workers.on("one", emulator, NUMBERS):
        async with workers.on("two", emulator, NUMBERS) as two, workers.on("three", emulator, NUMBERS):
            await workers.until_shared(one=2, two=2, three=2)
            await two.drained()
            await workers.until_shared(one=3, three=3)
        await workers.until_shared(one=6)


async def test_a_number_goes_to_no_worker_that_cannot_use_it(pool: Pool, workers: Workers) -> None:
    await planted(pool, 10)
    async with (
        serving(**RATES_PER_S) as emulator,
        workers.on("one", emulator, NUMBERS),
        workers.on("two", emulator, NUMBERS[:1]),
    ):
        await workers.until_shared(one=5, two=1)


async def test_a_number_of_a_campaign_run_is_not_divided(
    pool: Pool, workers: Workers, elsewhere: Connection
) -> None:
    """The other five are: nobody waits for the sixth, and nobody counts it."""
    await planted(pool, 10)
    await take_lease(elsewhere, NUMBERS[0], another_process(boot="a campaign run"))
    await elsewhere.execute("UPDATE numbers SET leased_until = 'infinity' WHERE epoch = 1")
    async with (
        serving(**RATES_PER_S) as emulator,
        workers.on("one", emulator, NUMBERS),
        workers.on("two", emulator, NUMBERS),
    ):
        await until(lambda: has_values(workers, [1, 2, 3]))


async def has_values(workers: Workers, wanted: list[int]) -> bool:
    return sorted((await workers.shares()).values()) == wanted


async def test_a_request_that_is_slow_is_waited_for_when_its_number_moves(
    pool: Pool, workers: Workers
) -> None:
    """Nobody is in doubt because a worker was added: the reply comes after longer than an end would wait."""
    campaign = await planted(pool, 6, range_size=1)
    async with (
        serving(fault("latency", median_ms=4_000), **RATES_PER_S) as emulator,
        workers.on("one", emulator, NUMBERS),
    ):
        await until(lambda: len(emulator.service.ledger) == 6)
        async with workers.on("two", emulator, NUMBERS):
            await workers.until_shared(one=3, two=3)
            await until(lambda: all_accepted(pool, campaign))
    await assert_counts(pool, campaign, accepted=6)


async def test_a_number_that_is_lost_during_its_move_ends_as_any_lost_number(
    pool: Pool, workers: Workers, elsewhere: Connection
) -> None:
    """Its requests end, and what they tell is stored; the worker goes on and stops in order."""
    campaign = await planted(pool, 6, range_size=1)
    async with (
        serving(fault("latency", median_ms=2_000), **RATES_PER_S) as emulator,
        workers.on("one", emulator, NUMBERS) as one,
    ):
        await until(lambda: len(emulator.service.ledger) == 6)
        async with workers.on("two", emulator, NUMBERS):
            async with elsewhere.transaction():
                await elsewhere.execute("UPDATE numbers SET leased_until = now() - interval '1 s'")
                for number in NUMBERS:
                    await take_lease(elsewhere, number, another_process(boot="a thief"))
            await until(lambda: all_accepted(pool, campaign))
            assert (await one.drained()).drained
    await assert_counts(pool, campaign, accepted=6)
