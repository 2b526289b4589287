"""The messaging limit while sending: nobody fails for it, the emulator's own limit is never met, and days pass quickly."""

from emulator.testing import Emulator
from engine.core.quota import COUNTED_S, GATHER_S
from engine.core.states import ReasonCode
from engine.store.database import Pool
from tests.sending.planted import FAST, SLOW, plant_campaign, plant_numbers
from tests.sending.running import (
    HIGH_RATE_PER_S,
    accepted_by_number,
    assert_counts,
    assert_each_once,
    serving,
    started,
    until,
)

NEXT_DAY_S = COUNTED_S + GATHER_S + 60


async def limit(pool: Pool, emulator: Emulator, **tiers: str) -> None:
    """These numbers have these tiers, at the service and in the database. They are RED, so they do not grow by themselves."""
    for number, tier in tiers.items():
        emulator.service.numbers[number].quality_rating = "RED"
        emulator.service.numbers[number].tiers.set(tier, emulator.service.clock.now_ns())
    async with pool.acquire() as connection:
        await connection.executemany(
            "UPDATE numbers SET messaging_limit_tier = $2 WHERE phone_number_id = $1", list(tiers.items())
        )


async def pass_time(pool: Pool, emulator: Emulator, seconds: float = NEXT_DAY_S) -> None:
    """The clock of the service goes ahead, and what the database counted is so much older."""
    async with pool.acquire() as connection:
        await connection.execute(
            "UPDATE quota_people SET counted_at = counted_at - make_interval(secs => $1)", seconds
        )
    emulator.service.clock.advance(seconds)


async def reason_code(pool: Pool, campaign_id: int) -> str | None:
    code: str | None = await pool.fetchval(
        "SELECT reason_code FROM campaigns WHERE campaign_id = $1", campaign_id
    )
    return code


async def test_a_campaign_takes_the_days_that_its_tiers_allow(pool: Pool) -> None:
    async with serving(**{SLOW: HIGH_RATE_PER_S, FAST: HIGH_RATE_PER_S}) as emulator:
        async with pool.acquire() as connection:
            await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S, FAST: HIGH_RATE_PER_S})
            campaign = await plant_campaign(
                connection, recipients=2_600, range_size=100, numbers=(SLOW, FAST)
            )
        await limit(pool, emulator, **{SLOW: "TIER_250", FAST: "TIER_1K"})
        days = []
        async with started(pool, emulator, campaign, numbers=(SLOW, FAST)) as runner:
            while not runner.task.done():

                async def waits() -> bool:
                    return runner.task.done() or (
                        await reason_code(pool, campaign.campaign_id) == ReasonCode.MESSAGING_LIMIT
                    )

                await until(waits)
                days.append(sum(accepted_by_number(emulator).values()))
                await pass_time(pool, emulator)
                await until(
                    lambda: runner.task.done() or sum(accepted_by_number(emulator).values()) > days[-1]
                )
            assert (await runner.end()).state == "finished"
        assert days == [1_250, 2_500, 2_600]
        assert_each_once(emulator, campaign)
        assert all(not number.errors for number in emulator.service.numbers.values())
        await assert_counts(pool, campaign, accepted=2_600)
