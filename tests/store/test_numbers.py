"""What the service says of its numbers, and what stays when it says less."""

from dataclasses import replace

from campaigns.account.numbers import list_numbers
from engine.api.endpoints.numbers import NumberRecord
from engine.sending.number_sync import store_numbers
from engine.store.database import Pool


def told(**others: str) -> NumberRecord:
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
    await store_numbers(pool, [told()])
    assert await limit(pool) == 1_000
    await store_numbers(pool, [told(throughput_level="", quality_rating="YELLOW")])
    assert await limit(pool) == 1_000
    assert await pool.fetchval("SELECT quality_rating FROM numbers") == "YELLOW"
    await store_numbers(pool, [told(throughput_level="STANDARD")])
    assert await limit(pool) == 80


async def test_a_throughput_that_nobody_knows_is_the_default(pool: Pool) -> None:
    await store_numbers(pool, [told()])
    await store_numbers(pool, [told(throughput_level="NOT_APPLICABLE")])
    [number] = await list_numbers(pool)
    assert (number.limit_per_s, number.limit_is_manual) == (80, False)
