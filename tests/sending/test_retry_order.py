"""Recipients that wait for another attempt keep to the priorities too."""

from drumbeat.engine.core.limits.guard import PairGuard
from drumbeat.engine.sending.campaign_reader import CampaignReader
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.number_quota import NumberQuota
from drumbeat.engine.sending.retries import Retries
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import take_range
from tests.sending.planted import SLOW, another_process, context_of, plant_campaign, plant_numbers

DAY_NS = 86_400 * 10**9


async def test_retries_of_a_low_priority_wait_for_the_higher_one(pool: Pool) -> None:
    """In each campaign the first recipient is due; the urgent one has a second, which has no attempt yet."""
    context = context_of(pool)
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80})
        sale = await plant_campaign(connection, recipients=1, priority="low")
        reset = await plant_campaign(connection, recipients=2, priority="urgent")
        lease = await take_lease(connection, SLOW, another_process())
        for campaign in (sale, reset):
            assert await take_range(connection, lease, campaign.campaign_id) is not None
        await connection.execute("UPDATE ranges SET claimed_through = 1")
        await connection.execute(
            "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
            " SELECT range_id, 1, 1, 'deferred', epoch, phone_number_id, 'throttled' FROM ranges"
        )
        await connection.execute("UPDATE range_counters SET deferred = 1")
        await CampaignReader(context.campaign_cache, "chat", None).refresh(connection)
    feeder = Feeder(pool, lease, context.campaign_cache)
    await feeder.recover()
    retries = Retries(context, lease, feeder, PairGuard(burst=9), NumberQuota(context, SLOW))

    async def claimed(day: int) -> list[int]:
        granted = await retries.claim(day * DAY_NS, 10)
        return [candidate.campaign_id for candidate in granted.candidates]

    assert await claimed(day=1) == [reset.campaign_id]
    assert await claimed(day=2) == [], "the first attempt of the urgent campaign is still to come"
    feeder.held[reset.range_ids[0]].claimed_through = 2
    assert await claimed(day=3) == [sale.campaign_id]
