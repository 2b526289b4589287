"""Campaigns from the first claim to the end: everybody once, at the pace of the number, over several numbers."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from drumbeat.emulator.config import EmulatorConfig, NumberConfig
from drumbeat.emulator.testing import running_emulator
from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.sending import retries
from drumbeat.engine.store.database import Pool
from tests.sending.planted import FAST, SLOW, campaign_row, plant_campaign, plant_numbers
from tests.sending.running import (
    HIGH_RATE_PER_S,
    QUICK,
    accepted_by_number,
    assert_counts,
    assert_each_once,
    fault,
    run_to_end,
    serving,
    shortest_span_us,
    started,
    until,
    written_us,
)


async def test_everybody_is_accepted_once_and_the_campaign_finishes(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        campaign = await plant_campaign(connection, recipients=500, range_size=120)
    async with serving() as emulator:
        ended = await run_to_end(pool, emulator, campaign)
        assert (ended.state, ended.reason, ended.drained) == ("finished", "", True)
        assert_each_once(emulator, campaign)
        await assert_counts(pool, campaign, accepted=500)
        wamids = {row["wamid"] for row in emulator.service.ledger.rows(0, 1_000)}
    async with pool.acquire() as connection:
        stored = await connection.fetch("SELECT wamid, attempt_no FROM outcomes")
        assert {row["wamid"] for row in stored} == wamids
        assert {row["attempt_no"] for row in stored} == {1}
        assert await connection.fetchval("SELECT released FROM numbers")
        states = await connection.fetch(
            "SELECT state, phone_number_id, claimed_through = last_seq FROM ranges"
        )
        assert {tuple(row) for row in states} == {("done", None, True)}
        done = await connection.fetchrow("SELECT attempts, accepted, throttled FROM campaign_numbers")
        assert done is not None and tuple(done) == (500, 500, 0)


async def test_since_when_a_number_is_throttled_is_stored_and_what_it_sent_by_then(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 400})
        campaign = await plant_campaign(connection, recipients=5_000)

    async def is_noted() -> bool:
        return bool(
            await pool.fetchval("SELECT EXISTS (SELECT FROM numbers WHERE slowed_since IS NOT NULL)")
        ) and bool(await pool.fetchval("SELECT EXISTS (SELECT FROM campaign_rates WHERE attempts > 0)"))

    timing = replace(QUICK, sample_period_s=0.05)
    async with serving(**{SLOW: 40}) as emulator, started(pool, emulator, campaign, timing=timing):
        await until(is_noted)


async def test_each_message_says_what_its_recipients_row_says(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        campaign = await plant_campaign(connection, recipients=20)
        installation = await connection.fetchval("SELECT installation FROM installation")
    async with serving() as emulator:
        await run_to_end(pool, emulator, campaign)
        rows = sorted(emulator.service.ledger.rows(0, 100), key=lambda row: row["to"])
    assert [row["to"] for row in rows] == [str(phone) for phone in campaign.phones]
    assert "Ana 7" in str(rows[6]["parameters"]) and "LH-7" in str(rows[6]["parameters"])
    heads = {row["tag"].split(".")[0] for row in rows}
    assert heads == {installation} and [row["tag"].split(".")[2] for row in rows][:3] == ["1", "2", "3"]


async def test_product_version_and_tag_are_those_of_the_settings(pool: Pool) -> None:
    """In sending requests, and in requests that list the numbers."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 300})
        campaign = await plant_campaign(connection, recipients=20)
    config = EmulatorConfig(
        port=0, numbers=(NumberConfig(SLOW, 1_000),), product="talk", version="v23.1", waba="77"
    )
    settings = {
        "product": "talk",
        "api_version": "v23.1",
        "tag": False,
        "waba_id": "77",
    }
    async with running_emulator(config) as emulator:
        assert (await run_to_end(pool, emulator, campaign, **settings)).state == "finished"
        assert_each_once(emulator, campaign)
        assert {row["tag"] for row in emulator.service.ledger.rows(0, 100)} == {None}
        async with started(pool, emulator, **settings):
            await until(partial(is_known, pool, "HIGH"))


async def is_known(pool: Pool, level: str) -> bool:
    return bool(await pool.fetchval("SELECT throughput_level = $1 FROM numbers", level))


async def test_whom_the_plan_skipped_nobody_writes_to(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        campaign = await plant_campaign(
            connection, recipients=30, range_size=10, skipped=[0, *range(10, 20), 29]
        )
    async with serving() as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert len(emulator.service.ledger) == 18
        await assert_counts(pool, campaign, accepted=18, skipped=12)


async def test_no_sliding_second_holds_more_than_the_limit(pool: Pool) -> None:
    """By the times of writing and by the service's own window. `benchmarks/pacing.py` measures the rates."""
    limit = 150
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: limit})
        campaign = await plant_campaign(connection, recipients=3 * limit)
    async with serving(**{SLOW: limit}) as emulator:
        await run_to_end(pool, emulator, campaign)
        assert_each_once(emulator, campaign)
        assert emulator.service.numbers[SLOW].window.largest_count <= limit
    times = await written_us(pool, SLOW)
    assert shortest_span_us(times, limit) >= 1_000_000


async def test_a_stop_and_a_start_do_not_add_up_to_more_than_the_limit(pool: Pool) -> None:
    """A new owner's bucket starts empty, and it waits until the former owner's second is over."""
    limit = 100
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: limit})
        campaign = await plant_campaign(connection, recipients=2 * limit)
    async with serving(**{SLOW: HIGH_RATE_PER_S}) as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(emulator.service.ledger) >= limit - 20)
            await runner.drained()
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)
    assert shortest_span_us(await written_us(pool, SLOW), limit) >= 1_000_000


async def test_several_campaigns_share_a_number(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 400})
        campaigns = [await plant_campaign(connection, recipients=200, range_size=20) for _ in range(3)]
    async with serving() as emulator, started(pool, emulator) as runner:

        async def all_finished() -> bool:
            async with pool.acquire() as connection:
                states = [(await campaign_row(connection, campaign.campaign_id))[0] for campaign in campaigns]
            return states == ["finished"] * 3

        await until(all_finished)
        assert (await runner.drained()).drained
        assert_each_once(emulator, *campaigns)
        half = [int(row["to"]) // 1_000_000 for row in emulator.service.ledger.rows(0, 300)]
        shares = [half.count(campaign.first_phone // 1_000_000) for campaign in campaigns]
        assert min(shares) >= 60, f"half-way each has its share, not one after the other: {shares}"


async def test_two_numbers_share_a_campaign_by_their_rates(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 60, FAST: 600})
        campaign = await plant_campaign(connection, recipients=900, range_size=30, numbers=(SLOW, FAST))
    async with serving(**{SLOW: 60, FAST: 600}) as emulator:
        ended = await run_to_end(pool, emulator, campaign, (SLOW, FAST))
        assert ended.state == "finished"
        assert_each_once(emulator, campaign)
        sent = accepted_by_number(emulator)
        assert sent[SLOW] > 30 and sent[FAST] > 2 * sent[SLOW], (
            "ten times where nothing stalls; shared alike without the rates"
        )


async def test_the_tail_of_a_slow_number_goes_to_a_fast_one(pool: Pool) -> None:
    """At 10/s the slow number would need 30 s for its range; there are enough ranges for it to get one."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 10, FAST: 500})
        campaign = await plant_campaign(connection, recipients=1_500, range_size=300, numbers=(SLOW, FAST))
    async with serving(**{SLOW: 10, FAST: 500}) as emulator:
        ended = await run_to_end(pool, emulator, campaign, (SLOW, FAST))
        assert ended.state == "finished"
        assert_each_once(emulator, campaign)
        assert 0 < accepted_by_number(emulator)[SLOW] < 100
        await assert_counts(pool, campaign, accepted=1_500)


async def test_a_restored_database_pauses_what_runs_before_anything_is_sent(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        campaign = await plant_campaign(connection)
        await connection.execute("UPDATE installation SET timeline = timeline + 1")
    async with serving() as emulator:
        ended = await run_to_end(pool, emulator, campaign)
        assert ended.state == "paused"
        assert "restored" in ended.reason
        assert len(emulator.service.ledger) == 0
        async with pool.acquire() as connection:
            await connection.execute("UPDATE campaigns SET state = 'running'")
        assert (await run_to_end(pool, emulator, campaign)).state == "finished", "said once, not for ever"


async def test_a_slow_service_gets_as_many_open_requests_as_the_rate_needs(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 200})
        campaign = await plant_campaign(connection, recipients=400)
    async with serving(fault("latency", median_ms=500)) as emulator:
        await run_to_end(pool, emulator, campaign)
        assert_each_once(emulator, campaign)
    times = await written_us(pool, SLOW)
    assert times[-1] - times[0] < 1.4 * 1_000_000 * 400 / 200, "latency costs no rate"


async def test_lookups_of_due_retries_become_rare_while_none_is_due(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks_ns: list[int] = []
    real = retries.due_retries

    async def looked(*arguments: Any) -> Any:
        looks_ns.append(monotonic_ns())
        return await real(*arguments)

    monkeypatch.setattr(retries, "due_retries", looked)
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 40.0})
        campaign = await plant_campaign(connection, recipients=50)
    async with serving() as emulator:
        await run_to_end(pool, emulator, campaign)
    lasted_ns = looks_ns[-1] - looks_ns[0]
    assert lasted_ns > 8 * QUICK.retry_period_ns_max
    assert len(looks_ns) <= lasted_ns / QUICK.retry_period_ns_max + 5, "from 25 ms by doubling"
