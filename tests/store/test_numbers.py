"""What the service says of its numbers, and what stays when it says less."""

from dataclasses import replace

import asyncpg
import pytest

from drumbeat.campaigns.account.numbers import list_numbers, set_limit
from drumbeat.campaigns.account.tier_warnings import tier_warnings
from drumbeat.campaigns.cli.numbers import state_text
from drumbeat.engine.api.endpoints.numbers import NumberRecord
from drumbeat.engine.core.pace.token_bucket import LIMIT_PER_S_MAX, LIMIT_PER_S_MIN
from drumbeat.engine.errors import UsageError
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.sending.number_sync import store_numbers
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.leases import release_lease, renew_leases, take_lease


def listed(**others: str) -> NumberRecord:
    record = NumberRecord(
        phone_number_id="1",
        display_phone_number="+55 11 4000-0000",
        verified_name="Shop",
        quality_rating="GREEN",
        messaging_limit_tier="TIER_1K",
        status="CONNECTED",
        throughput_level="HIGH",
    )
    return replace(record, **others)


async def limit(pool: Pool) -> float:
    found: float = await pool.fetchval("SELECT service_limit_per_s FROM numbers")
    return found


async def test_a_list_without_throughput_keeps_the_limit_that_is_known(pool: Pool) -> None:
    await store_numbers(pool, [listed()])
    assert await limit(pool) == 1_000
    await store_numbers(pool, [listed(throughput_level="", quality_rating="YELLOW")])
    assert await limit(pool) == 1_000
    assert await pool.fetchval("SELECT quality_rating FROM numbers") == "YELLOW"
    await store_numbers(pool, [listed(throughput_level="STANDARD")])
    assert await limit(pool) == 80


async def test_a_throughput_that_nobody_knows_is_the_default(pool: Pool) -> None:
    await store_numbers(pool, [listed()])
    await store_numbers(pool, [listed(throughput_level="NOT_APPLICABLE")])
    [number] = await list_numbers(pool)
    assert (number.limit_per_s, number.limit_is_manual) == (80, False)


async def known(pool: Pool) -> tuple[str | None, str | None, int | None]:
    """The word of the service, the last one that was understood, and the limit that counts."""
    [number] = await list_numbers(pool)
    return number.messaging_limit_tier, number.known_tier, number.quota_limit


async def test_a_word_for_the_messaging_limit_that_nobody_knows_leaves_the_last_known_one(pool: Pool) -> None:
    await store_numbers(pool, [listed(messaging_limit_tier="TIER_2K")])
    assert await known(pool) == ("TIER_2K", "TIER_2K", 2_000)
    await store_numbers(pool, [listed(messaging_limit_tier="TIER_NEW")])
    assert await known(pool) == ("TIER_NEW", "TIER_2K", 2_000)
    await store_numbers(pool, [listed(messaging_limit_tier="")])
    assert await known(pool) == (None, "TIER_2K", 2_000)
    assert await tier_warnings(pool) == [
        "the service no longer says the messaging limit of 1: 2,000 people in 24 hours count until it says one"
        " that is known"
    ]
    await store_numbers(pool, [listed(messaging_limit_tier="TIER_UNLIMITED")])
    assert await known(pool) == ("TIER_UNLIMITED", "TIER_UNLIMITED", None)
    assert await tier_warnings(pool) == []


async def test_the_first_word_that_nobody_knows_is_the_lowest_limit_and_no_word_is_none(pool: Pool) -> None:
    await store_numbers(pool, [listed(messaging_limit_tier="TIER_NEW")])
    assert await known(pool) == ("TIER_NEW", None, 250)
    assert "'TIER_NEW', which is not known: 250 people" in (await tier_warnings(pool, ["1"]))[0]
    await store_numbers(pool, [listed(messaging_limit_tier="")])
    assert await known(pool) == (None, None, None)
    assert await tier_warnings(pool) == [], "a service that never says it"


@pytest.mark.parametrize("rate", [0.0, -1.0, 1e-300, 0.0099, 100_001.0, 1e300, float("inf"), float("nan")])
async def test_a_limit_that_no_number_can_keep_to_is_refused_by_us_and_by_the_database(
    pool: Pool, rate: float
) -> None:
    await store_numbers(pool, [listed()])
    with pytest.raises(UsageError, match=r"a limit is 0\.01 to 100,000 messages per second"):
        await set_limit(pool, "1", rate)
    for column in ("manual_limit_per_s", "service_limit_per_s"):
        with pytest.raises(asyncpg.CheckViolationError):
            await pool.execute(f"UPDATE numbers SET {column} = $1", rate)


@pytest.mark.parametrize("rate", [LIMIT_PER_S_MIN, 0.5, LIMIT_PER_S_MAX])
async def test_the_bounds_are_those_of_the_database(pool: Pool, rate: float) -> None:
    await store_numbers(pool, [listed()])
    await set_limit(pool, "1", rate)
    assert (await list_numbers(pool))[0].limit_per_s == rate


async def test_a_number_that_the_account_lost_is_marked_until_it_is_listed_again(pool: Pool) -> None:
    other = listed(phone_number_id="2")
    await store_numbers(pool, [listed(), other])
    assert [number.unlisted_at for number in await list_numbers(pool)] == [None, None]
    await store_numbers(pool, [other])
    lost, kept = await list_numbers(pool)
    assert lost.unlisted_at is not None and kept.unlisted_at is None
    assert state_text(lost).startswith("not in the account since ")
    await store_numbers(pool, [])
    assert (await list_numbers(pool))[0].unlisted_at == lost.unlisted_at
    await store_numbers(pool, [listed(), other])
    assert [number.unlisted_at for number in await list_numbers(pool)] == [None, None]


async def test_a_list_shows_what_is_sent_beside_what_is_permitted(pool: Pool) -> None:
    await store_numbers(pool, [listed()])
    async with pool.acquire() as connection:
        lease = await take_lease(connection, "1", this_process())
        await renew_leases(connection, [lease], [199.0], [0.0])
        [idle] = await list_numbers(pool)
        await renew_leases(connection, [lease], [199.0], [42.5])
        [busy] = await list_numbers(pool)
        await connection.execute("UPDATE numbers SET leased_until = now() - interval '1 s'")
        [dead] = await list_numbers(pool)
        await release_lease(connection, lease)
        [free] = await list_numbers(pool)
    assert [(one.rate_per_s, one.achieved_per_s) for one in (idle, busy, dead, free)] == [
        (199.0, 0.0), (199.0, 42.5), (None, 0.0), (None, 0.0),
    ]  # fmt: skip
    assert await pool.fetchval("SELECT achieved_per_s FROM numbers") is None
    assert state_text(idle).startswith("nothing to send: ") and state_text(busy).startswith("sending: ")
