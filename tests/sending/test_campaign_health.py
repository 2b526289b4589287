"""Canaries and error budgets of running campaigns, against the emulator. Statuses are stored by the test."""

from collections.abc import Sequence

import pytest

from drumbeat.campaigns.life.control import approve, resume, resume_all
from drumbeat.campaigns.results.status import campaign_status
from drumbeat.engine.core.states import CampaignState, ReasonCode, RecipientState
from drumbeat.engine.errors import TryLater, UsageError
from drumbeat.engine.store.database import Pool
from tests.sending.planted import FAST, SLOW, Planted, plant_campaign, plant_numbers
from tests.sending.running import (
    HIGH_RATE_PER_S,
    accepted_phones,
    assert_counts,
    assert_each_once,
    run_to_end,
    serving,
    started,
    until,
)

CANARY = 20


async def with_canary(
    pool: Pool, *, needs_approval: bool = False, wait_s: float = 900.0, numbers: Sequence[str] = (SLOW,)
) -> Planted:
    """A campaign of 100 in ranges of 10; the first two are its canary, of which one may fail."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **dict.fromkeys(numbers, HIGH_RATE_PER_S))
        campaign = await plant_campaign(connection, recipients=100, range_size=10, numbers=numbers)
        await connection.execute("UPDATE campaigns SET started_at = now()")
        await connection.execute(
            "INSERT INTO canaries (campaign_id, recipients, ranges, max_failed, needs_approval, wait_s)"
            " VALUES ($1, $2, 2, '1', $3, $4)",
            campaign.campaign_id, CANARY, needs_approval, wait_s,
        )  # fmt: skip
    return campaign


async def report(pool: Pool, word: str, recipients: int) -> None:
    """So many of the accepted get this status, as the status applier would record it."""
    number = {"failed": 3, "delivered": 4}[word]
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(
            "WITH reported AS (UPDATE outcomes SET status = $1 WHERE (range_id, seq) IN"
            " (SELECT range_id, seq FROM outcomes WHERE kind = 1 AND status = 1 ORDER BY range_id, seq LIMIT $2)"
            " RETURNING range_id), counted AS (SELECT range_id, count(*) AS many FROM reported GROUP BY range_id)"
            f" UPDATE range_counters SET accepted = accepted - many, {word} = {word} + many"
            " FROM counted WHERE counted.range_id = range_counters.range_id",
            number,
            recipients,
        )


async def code_of(pool: Pool, campaign: Planted) -> str | None:
    found: str | None = await pool.fetchval(
        "SELECT reason_code FROM campaigns WHERE campaign_id = $1", campaign.campaign_id
    )
    return found


async def name_of(pool: Pool, campaign: Planted) -> str:
    return (await campaign_status(pool, campaign.campaign_id)).name


async def test_only_the_canary_is_sent_until_its_statuses_are_there_whoever_starts_meanwhile(
    pool: Pool,
) -> None:
    campaign = await with_canary(pool, numbers=(SLOW, FAST))
    async with serving(**dict.fromkeys((SLOW, FAST), HIGH_RATE_PER_S)) as emulator:

        async def awaits_statuses() -> bool:
            status = await campaign_status(pool, campaign.campaign_id)
            return "statuses are awaited" in status.reason

        for _ in range(2):  # the second process finds the canary as the first one left it
            async with started(pool, emulator, campaign, (SLOW, FAST)) as runner:
                await until(awaits_statuses)
                await runner.drained()
            assert set(accepted_phones(emulator)) == set(campaign.phones[:CANARY])
            assert await code_of(pool, campaign) == ReasonCode.CANARY
        await report(pool, "delivered", CANARY)
        assert (await run_to_end(pool, emulator, campaign, (SLOW, FAST))).state == "finished"
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=80, delivered=20)
    status = await campaign_status(pool, campaign.campaign_id)
    assert status.canary is not None and status.canary.state == "passed"
    assert status.reason == ""


async def test_a_canary_that_fails_pauses_and_only_a_person_who_resumes_sends_the_rest(pool: Pool) -> None:
    campaign = await with_canary(pool)
    async with serving() as emulator:
        for phone in campaign.phones[:2]:
            emulator.service.people.know(phone).on_network = False
        ended = await run_to_end(pool, emulator, campaign)
        assert ended.state == "paused"
        assert ended.reason.startswith("the canary failed: ") and "2 failed" in ended.reason
        assert await code_of(pool, campaign) == ReasonCode.CANARY_FAILED
        assert set(accepted_phones(emulator)) <= set(campaign.phones[:CANARY])
        async with pool.acquire() as connection:
            name = await name_of(pool, campaign)
            with pytest.raises(TryLater, match="the canary failed"):
                await approve(connection, name)
            [change] = await resume_all(connection)
            assert change.state is CampaignState.PAUSED and "canary" in change.stays_paused
            assert (await resume(connection, name)).state is CampaignState.RUNNING
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
    await assert_counts(pool, campaign, accepted=98, failed=2)


@pytest.mark.parametrize("early", [False, True])
async def test_a_healthy_canary_waits_for_the_approval_that_was_asked_for(pool: Pool, early: bool) -> None:
    campaign = await with_canary(pool, needs_approval=True)
    name = await name_of(pool, campaign)
    async with serving() as emulator, started(pool, emulator, campaign) as runner:
        await until(lambda: len(accepted_phones(emulator)) == CANARY)
        if early:
            async with pool.acquire() as connection:
                assert (await approve(connection, name)).changed
        async with pool.acquire() as connection:
            await until(lambda: accepted(connection_pool=pool, campaign=campaign, count=CANARY))
            await report(pool, "delivered", CANARY)
        ended = await runner.end()
        if not early:
            assert ended.state == "paused" and "waits for approval" in ended.reason
            assert await code_of(pool, campaign) == ReasonCode.APPROVAL_NEEDED
            async with pool.acquire() as connection:
                assert (await approve(connection, name)).state is CampaignState.RUNNING
                assert not (await approve(connection, name)).changed
            ended = await run_to_end(pool, emulator, campaign)
        assert ended.state == "finished"
        assert_each_once(emulator, campaign)


async def accepted(connection_pool: Pool, campaign: Planted, count: int) -> bool:
    status = await campaign_status(connection_pool, campaign.campaign_id)
    return status.counts[RecipientState.ACCEPTED] == count


async def test_a_canary_without_statuses_pauses_after_its_wait(pool: Pool) -> None:
    campaign = await with_canary(pool, wait_s=0.1)
    async with serving() as emulator:
        ended = await run_to_end(pool, emulator, campaign)
        assert ended.state == "paused" and "too few statuses" in ended.reason
        assert await code_of(pool, campaign) == ReasonCode.CANARY_SILENT
    await assert_counts(pool, campaign, accepted=CANARY, pending=80)


async def test_a_campaign_without_a_canary_cannot_be_approved(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80})
        campaign = await plant_campaign(connection)
        with pytest.raises(UsageError, match="has no canary"):
            await approve(connection, await name_of(pool, campaign))


async def test_failures_that_are_reported_later_exceed_the_budget_and_a_resume_begins_a_new_one(
    pool: Pool,
) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 20})
        campaign = await plant_campaign(connection, recipients=200, range_size=10)
        await connection.execute("UPDATE campaigns SET pause_at_failed = '2%'")
    async with serving(**{SLOW: 20.0}) as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(accepted_phones(emulator)) >= 10)
            await until(lambda: some_accepted(pool, campaign, 8))
            await report(pool, "failed", 4)
            await runner.drained()
        assert await code_of(pool, campaign) is None, "4 of 200 are 2 %"
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: some_accepted(pool, campaign, 1))
            await report(pool, "failed", 1)
            ended = await runner.end()
        assert ended.state == "paused"
        assert ended.reason == "5 of 200 recipients failed, more than the limit of 2%"
        assert await code_of(pool, campaign) == ReasonCode.FAILURES_EXCEEDED
        assert len(accepted_phones(emulator)) < 200
        async with pool.acquire() as connection:
            await resume(connection, await name_of(pool, campaign))
        async with started(pool, emulator, campaign) as runner:
            before = len(accepted_phones(emulator))
            await until(lambda: len(accepted_phones(emulator)) > before)
            await runner.drained()
        assert await code_of(pool, campaign) is None


async def some_accepted(pool: Pool, campaign: Planted, count: int) -> bool:
    status = await campaign_status(pool, campaign.campaign_id)
    return status.counts[RecipientState.ACCEPTED] >= count


async def test_a_list_of_people_who_left_the_network_pauses_until_a_person_accepts_it(pool: Pool) -> None:
    rate_per_s = 200.0
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: rate_per_s})
        campaign = await plant_campaign(connection, recipients=1_000, range_size=50)
    async with serving(**{SLOW: rate_per_s}) as emulator:
        for phone in campaign.phones[::2]:
            emulator.service.people.know(phone).on_network = False
        ended = await run_to_end(pool, emulator, campaign)
        assert ended.state == "paused" and "the list looks old" in ended.reason
        assert await code_of(pool, campaign) == ReasonCode.LIST_LOOKS_OLD
        assert len(accepted_phones(emulator)) < 500
        async with pool.acquire() as connection:
            await resume(connection, await name_of(pool, campaign))
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
    await assert_counts(pool, campaign, accepted=500, failed=500)
