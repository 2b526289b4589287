"""What the service says of its numbers, and what stays when it says less."""

from dataclasses import replace

from campaigns.account.numbers import list_numbers
from campaigns.cli.numbers import state_text
from engine.api.endpoints.numbers import NumberRecord
from engine.process.identity import this_process
from engine.sending.number_sync import store_numbers
from engine.store.database import Pool
from engine.store.leases import release_lease, renew_leases, take_lease


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
