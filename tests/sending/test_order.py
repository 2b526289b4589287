"""The order of campaigns on busy numbers: a higher priority does not wait behind held ranges, and nobody idles."""

from collections import Counter

import pytest

from drumbeat.engine.store.database import Pool
from tests.sending.planted import FAST, SLOW, Planted, plant_campaign, plant_numbers
from tests.sending.running import (
    accepted_by_number,
    accepted_phones,
    assert_each_once,
    serving,
    started,
    until,
)


def of(accepted: Counter[int], campaign: Planted) -> int:
    return len(accepted.keys() & set(campaign.phones))


@pytest.mark.parametrize("by_worker", [True, False], ids=["worker", "run of the other campaign"])
async def test_a_message_to_one_person_does_not_wait_behind_the_range_of_a_busy_number(
    pool: Pool, by_worker: bool
) -> None:
    """The number holds a range that takes it ten seconds."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 100})
        sale = await plant_campaign(connection, recipients=1_000)
    async with (
        serving(**{SLOW: 100.0}) as emulator,
        started(pool, emulator, None if by_worker else sale) as runner,
    ):
        await until(lambda: of(accepted_phones(emulator), sale) >= 20)
        async with pool.acquire() as connection:
            reset = await plant_campaign(connection, recipients=1, priority="urgent")
        before = of(accepted_phones(emulator), sale)
        await until(lambda: of(accepted_phones(emulator), reset) == 1)
        assert of(accepted_phones(emulator), sale) - before < 500
        await until(lambda: finished(pool, reset))
        await runner.drained()
        assert max(accepted_phones(emulator).values()) == 1


async def finished(pool: Pool, campaign: Planted) -> bool:
    sql = "SELECT state = 'finished' FROM campaigns WHERE campaign_id = $1"
    return bool(await pool.fetchval(sql, campaign.campaign_id))


async def test_a_range_that_waits_for_a_higher_priority_goes_to_a_number_that_is_idle(pool: Pool) -> None:
    """The slow number may send both campaigns, the other one only the sale, and has sent its part of it."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 100, FAST: 100})
        sale = await plant_campaign(connection, recipients=200, range_size=50, numbers=(SLOW, FAST))
    rates = {SLOW: 100.0, FAST: 100.0}
    async with (
        serving(**rates) as emulator,
        started(pool, emulator, numbers=(SLOW, FAST)) as runner,
    ):
        await until(lambda: accepted_by_number(emulator)[SLOW] >= 10)
        async with pool.acquire() as connection:
            news = await plant_campaign(connection, recipients=4_000, priority="high")
        await until(lambda: finished(pool, sale))
        sent = accepted_phones(emulator)
        await runner.drained()
    assert of(sent, sale) == 200
    assert of(sent, news) < 4_000, "the sale did not wait for it"
    assert max(sent.values()) == 1


async def test_campaigns_with_shares_end_with_everybody_sent_to_once(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 2_000})
        campaigns = [await plant_campaign(connection, recipients=300, range_size=10) for _ in range(3)]
        await connection.execute(
            "UPDATE campaigns SET share_percent = 60 WHERE campaign_id = $1", campaigns[0].campaign_id
        )
        await connection.execute(
            "UPDATE campaigns SET priority = 'low' WHERE campaign_id = $1", campaigns[1].campaign_id
        )
    async with serving() as emulator, started(pool, emulator) as runner:
        for campaign in campaigns:
            await until(lambda campaign=campaign: finished(pool, campaign))  # type: ignore[misc]
        await runner.drained()
        assert_each_once(emulator, *campaigns)
        order = [int(row["to"]) for row in emulator.service.ledger.rows(0, 1_000_000)]
    low = [position for position, phone in enumerate(order) if phone in set(campaigns[1].phones)]
    large = [position for position, phone in enumerate(order) if phone in set(campaigns[0].phones)]
    assert large[-1] < len(order) * 0.8, "60 % of the rate"
    assert low[30] > 400, "the low priority comes after the two others"
