"""The messaging limit while sending: nobody fails for it, the emulator's own limit is never met, and days pass quickly."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from drumbeat.campaigns.results.status import campaign_status
from drumbeat.emulator.testing import Emulator
from drumbeat.engine.core.limits.quota import COUNTED_S, GATHER_S, QuotaScope
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.sending import first_attempts
from drumbeat.engine.sending.guarding import Guarded
from drumbeat.engine.sending.number_quota import NumberQuota
from drumbeat.engine.store.claims import Candidate, fact_of_unsent
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.facts import FactKind
from drumbeat.engine.store.queries import queries
from tests.sending.planted import FAST, SLOW, Planted, context_of, plant_campaign, plant_numbers
from tests.sending.running import (
    HIGH_RATE_PER_S,
    accepted_by_number,
    assert_counts,
    assert_each_once,
    run_to_end,
    serving,
    started,
    until,
    until_sent,
)
from tests.sending.workers import Workers

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


def both() -> AbstractAsyncContextManager[Emulator]:
    return serving(**{SLOW: HIGH_RATE_PER_S, FAST: HIGH_RATE_PER_S})


async def planted(
    pool: Pool, emulator: Emulator, recipients: int, *, range_size: int = 100, **tiers: str
) -> Planted:
    """A campaign of these numbers, which have these tiers."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **dict.fromkeys(tiers, HIGH_RATE_PER_S))
        await connection.execute(
            "UPDATE numbers SET display_phone_number = '55114000' WHERE phone_number_id = $1", SLOW
        )
        campaign = await plant_campaign(
            connection, recipients=recipients, range_size=range_size, numbers=list(tiers)
        )
    await limit(pool, emulator, **tiers)
    return campaign


async def waits(pool: Pool, campaign: Planted) -> bool:
    code = await pool.fetchval(
        "SELECT reason_code FROM campaigns WHERE campaign_id = $1", campaign.campaign_id
    )
    return bool(code == ReasonCode.MESSAGING_LIMIT)


def refusals(emulator: Emulator) -> Counter[int]:
    return sum((number.errors for number in emulator.service.numbers.values()), Counter())


async def test_a_campaign_takes_the_days_that_its_tiers_allow(pool: Pool) -> None:
    """The share of the small number moves to the large one on each day. Nobody is refused for quota."""
    async with both() as emulator:
        campaign = await planted(pool, emulator, 2_600, **{SLOW: "TIER_250", FAST: "TIER_1K"})
        days = []
        async with started(pool, emulator, campaign, numbers=(SLOW, FAST)) as runner:
            for _ in range(2):
                await until(lambda: waits(pool, campaign))
                days.append(len(emulator.service.ledger))
                await pass_time(pool, emulator)
                await until(lambda: len(emulator.service.ledger) > days[-1])
            assert (await runner.end()).state == "finished"
        assert days == [1_250, 2_500]
        assert_each_once(emulator, campaign)
        assert not refusals(emulator)
        await assert_counts(pool, campaign, accepted=2_600)


async def test_a_campaign_says_until_when_it_waits(pool: Pool) -> None:
    async with both() as emulator:
        campaign = await planted(pool, emulator, 260, **{SLOW: "TIER_250"})
        async with started(pool, emulator, campaign):
            await until(lambda: waits(pool, campaign))
            status = await campaign_status(pool, campaign.campaign_id)
    assert status.reason.startswith("waiting: messaging limit: 250 of 250 people in 24 hours; goes on at 20")
    [number] = status.numbers
    assert (number.quota_limit, number.quota_used) == (250, 250)
    assert number.quota_more_at is not None
    assert status.counts["pending"] == 10


async def test_people_who_are_counted_or_in_a_conversation_take_nothing_of_the_limit(pool: Pool) -> None:
    """While one campaign waits, another one to the same people goes on, and so does one to people who wrote."""
    async with both() as emulator:
        first = await planted(pool, emulator, 260, **{SLOW: "TIER_250"})
        async with pool.acquire() as connection:
            again = await plant_campaign(connection, phones=first.phones[:250])
            wrote = await plant_campaign(connection, recipients=20, state="paused")
            await connection.executemany(
                "INSERT INTO incoming_messages VALUES ($1, $2, $1, 'text', now(), '{}')",
                [(str(phone), SLOW) for phone in wrote.phones],
            )
        for phone in wrote.phones:
            emulator.service.numbers[SLOW].windows[phone] = emulator.service.clock.now_ns()
        async with started(pool, emulator):
            await until_sent(emulator, 500)
            await pool.execute("UPDATE campaigns SET state = 'running' WHERE state = 'paused'")
            await until_sent(emulator, 520)
        await assert_counts(pool, first, accepted=250, pending=10)
        await assert_counts(pool, again, accepted=250)
        await assert_counts(pool, wrote, accepted=20)
        assert not refusals(emulator)


async def test_a_new_tier_takes_effect_at_once(pool: Pool) -> None:
    async with both() as emulator:
        campaign = await planted(pool, emulator, 300, **{SLOW: "TIER_250"})
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: waits(pool, campaign))
            await limit(pool, emulator, **{SLOW: "TIER_1K"})
            assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)


async def test_whom_the_service_refused_is_not_counted(pool: Pool) -> None:
    """251 people, one of whom is not on the network: the limit of 250 allows all others."""
    async with both() as emulator:
        campaign = await planted(pool, emulator, 251, **{SLOW: "TIER_250"})
        emulator.service.people.know(campaign.phones[7]).on_network = False
        async with started(pool, emulator, campaign) as runner:
            assert (await runner.end()).state == "finished"
        await assert_counts(pool, campaign, accepted=250, failed=1)


async def test_a_limit_that_others_used_is_a_quota_and_no_pace(pool: Pool) -> None:
    """Another program wrote to 100 people, so the service refuses where our count is at the limit. Nobody fails, no
    attempt is spent, the other number takes the rest, the number keeps its rate, and a new tier ends its rest.
    """
    async with both() as emulator:
        campaign = await planted(pool, emulator, 800, **{SLOW: "TIER_250", FAST: "TIER_1K"}, range_size=400)
        await pool.execute("UPDATE numbers SET manual_limit_per_s = 500 WHERE phone_number_id = $1", FAST)
        for person in range(100):
            emulator.service.numbers[SLOW].tiers.count(person, emulator.service.clock.now_ns())
        async with started(pool, emulator, campaign, numbers=(SLOW, FAST)) as runner:
            await until(lambda: rests(pool))
            rate_per_s = await pool.fetchval(
                "SELECT rate_per_s FROM numbers WHERE phone_number_id = $1", SLOW
            )
            assert rate_per_s > HIGH_RATE_PER_S / 2
            assert (await runner.end()).state == "finished"
        assert accepted_by_number(emulator)[SLOW] == 150
        assert_each_once(emulator, campaign)
        await assert_counts(pool, campaign, accepted=800)
        await pool.execute(queries("inbox")["refresh_number"], "55114000", "TIER_1K", "TIER_1K")
        assert not await rests(pool)


async def rests(pool: Pool) -> bool:
    """Whether the slow number rests for its messaging limit."""
    return bool(
        await pool.fetchval(
            "SELECT suspended_until > now() AND rests_for_quota AND suspended_reason LIKE 'messaging limit: 250 of 250 %'"
            " FROM numbers WHERE phone_number_id = $1",
            SLOW,
        )
    )


async def test_numbers_that_share_a_limit_never_exceed_it_together(pool: Pool, workers: Workers) -> None:
    """Two workers, each with a number of the account."""
    async with both() as emulator:
        campaign = await planted(pool, emulator, 600, **{SLOW: "TIER_250", FAST: "TIER_250"})
        shared = {"quota_scope": QuotaScope.ACCOUNT}
        async with (
            workers.on("one", emulator, [SLOW], **shared),
            workers.on("two", emulator, [FAST], **shared),
        ):
            await until(lambda: waits(pool, campaign))
            assert len(emulator.service.ledger) == 250
            await pass_time(pool, emulator)
            await until_sent(emulator, 500)
            await until(lambda: waits(pool, campaign))
        assert not refusals(emulator)
        await assert_counts(pool, campaign, accepted=500, pending=100)


async def test_what_was_sent_before_the_limit_was_counted_counts(pool: Pool) -> None:
    """A number loses its unlimited tier: the people of the same day count, and no others."""
    async with both() as emulator:
        campaign = await planted(pool, emulator, 200, **{SLOW: "TIER_UNLIMITED"})
        await run_to_end(pool, emulator, campaign)
        assert await pool.fetchval("SELECT count(*) FROM quota_scopes") == 0, (
            "nothing is written without a limit"
        )
        async with pool.acquire() as connection:
            later = await plant_campaign(connection, recipients=60)
        await limit(pool, emulator, **{SLOW: "TIER_250"})
        async with started(pool, emulator, later):
            await until(lambda: waits(pool, later))
        await assert_counts(pool, later, accepted=50, pending=10)


async def test_whom_a_guard_defers_is_not_counted(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second of 400 recipients may be written to only later: the limit of 250 allows the others."""
    guard = first_attempts.guard_first_attempts

    def defer_half(candidates: Sequence[Candidate], *others: Any) -> Guarded:
        guarded = guard(candidates, *others)
        later = [candidate for candidate in guarded.passed if candidate.seq % 2]
        guarded.passed = [candidate for candidate in guarded.passed if not candidate.seq % 2]
        guarded.decided += [
            fact_of_unsent(each, others[2], FactKind.DEFERRED, "later", 3_600) for each in later
        ]
        return guarded

    monkeypatch.setattr(first_attempts, "guard_first_attempts", defer_half)
    async with both() as emulator:
        campaign = await planted(pool, emulator, 400, **{SLOW: "TIER_250"})
        async with started(pool, emulator, campaign):
            await until_sent(emulator, 200)
        await assert_counts(pool, campaign, accepted=200, deferred=200)
    assert await pool.fetchval("SELECT used FROM quota_scopes") == 200


async def test_an_unlimited_number_asks_nothing_before_a_claim(pool: Pool) -> None:
    quota = NumberQuota(context_of(pool), SLOW)
    assert not quota.is_limited
    assert not quota.counts
    assert not quota.waits_for(1)
