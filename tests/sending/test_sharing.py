"""Workers divide numbers: who is added gets a share, who stops gives its share, and nobody is sent to twice."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from engine.process.identity import ProcessIdentity, this_process
from engine.sending import owned_numbers
from engine.store.database import Connection, Pool
from engine.store.leases import take
from tests.sending.planted import Planted, another_process, counts, plant_campaign, plant_numbers
from tests.sending.running import (
    QUICK,
    Runner,
    assert_counts,
    assert_each_once,
    fault,
    serving,
    started,
    until,
)

NUMBERS = [f"10654035224292{place}" for place in range(6)]
RATES_PER_S = dict.fromkeys(NUMBERS, 100.0)


class Workers:
    """Workers of several hosts in one loop: each has an identity of its own."""

    def __init__(self, pool: Pool, connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pool = pool
        self._connection = connection
        self._monkeypatch = monkeypatch

    @asynccontextmanager
    async def on(self, host: str, emulator, numbers: Sequence[str] = NUMBERS) -> AsyncIterator[Runner]:
        identity = replace(this_process(), host=host, boot=host)
        self._monkeypatch.setattr(owned_numbers, "this_process", lambda: identity)
        async with started(self._pool, emulator, numbers=numbers) as runner:
            await until(lambda: self._is_known(identity))
            yield runner

    async def _is_known(self, identity: ProcessIdentity) -> bool:
        row = "SELECT true FROM sending_processes WHERE process = $1"
        return bool(await self._connection.fetchval(row, identity.stored()))

    async def shares(self) -> dict[str, int]:
        """How many numbers each host owns."""
        rows = await self._connection.fetch(
            "SELECT owner_process ->> 'host' AS host, count(*) AS many FROM numbers"
            " WHERE NOT released AND leased_until > now() GROUP BY 1"
        )
        return {row["host"]: row["many"] for row in rows}

    async def until_shared(self, **shares: int) -> None:
        async def are_shared() -> bool:
            return await self.shares() == shares

        await until(are_shared)

    async def epochs(self) -> dict[str, int]:
        return {row["phone_number_id"]: row["epoch"] for row in await self._connection.fetch("TABLE numbers")}


async def planted(pool: Pool, recipients: int, **options: int) -> Planted:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **RATES_PER_S)
        return await plant_campaign(connection, recipients=recipients, numbers=NUMBERS, **options)  # type: ignore[arg-type]


@pytest.fixture
async def workers(pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch) -> Workers:
    return Workers(pool, elsewhere, monkeypatch)


async def test_a_worker_that_is_added_gets_half_and_nobody_is_sent_to_twice(
    pool: Pool, workers: Workers
) -> None:
    campaign = await planted(pool, 1_500, range_size=50)
    async with (
        serving(fault("latency", median_ms=100), **RATES_PER_S) as emulator,
        workers.on("one", emulator) as one,
    ):
        await workers.until_shared(one=6)
        await until(lambda: len(emulator.service.ledger) > 100)
        async with workers.on("two", emulator) as two:
            await workers.until_shared(one=3, two=3)
            await until(lambda: len(emulator.service.ledger) == campaign.recipients)
            assert_each_once(emulator, campaign)
            await until(lambda: all_accepted(pool, campaign))
            assert (await two.drained()).drained and (await one.drained()).drained
    epochs = await workers.epochs()
    assert sorted(epochs.values()) == [1, 1, 1, 2, 2, 2], "three numbers moved, once each"
    await assert_counts(pool, campaign, accepted=1_500)


async def all_accepted(pool: Pool, campaign: Planted) -> bool:
    async with pool.acquire() as connection:
        return (await counts(connection, campaign.campaign_id))["accepted"] == campaign.recipients


async def test_a_worker_that_stops_leaves_its_numbers_to_the_others(pool: Pool, workers: Workers) -> None:
    await planted(pool, 10)
    async with serving(**RATES_PER_S) as emulator, workers.on("one", emulator):
        async with workers.on("two", emulator) as two, workers.on("three", emulator):
            await workers.until_shared(one=2, two=2, three=2)
            await two.drained()
            await workers.until_shared(one=3, three=3)
        await workers.until_shared(one=6)


async def test_a_number_goes_to_no_worker_that_cannot_use_it(pool: Pool, workers: Workers) -> None:
    await planted(pool, 10)
    async with (
        serving(**RATES_PER_S) as emulator,
        workers.on("one", emulator),
        workers.on("two", emulator, NUMBERS[:1]),
    ):
        await workers.until_shared(one=5, two=1)


async def test_a_number_of_a_campaign_run_is_not_divided(
    pool: Pool, workers: Workers, elsewhere: Connection
) -> None:
    """The other five are: nobody waits for the sixth, and nobody counts it."""
    await planted(pool, 10)
    await take(elsewhere, NUMBERS[0], another_process(boot="a campaign run"))
    await elsewhere.execute("UPDATE numbers SET leased_until = 'infinity' WHERE epoch = 1")
    async with (
        serving(**RATES_PER_S) as emulator,
        workers.on("one", emulator),
        workers.on("two", emulator),
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
        workers.on("one", emulator),
    ):
        await until(lambda: len(emulator.service.ledger) == 6)
        async with workers.on("two", emulator):
            await workers.until_shared(one=3, two=3)
            await until(lambda: all_accepted(pool, campaign))
    await assert_counts(pool, campaign, accepted=6)


assert QUICK.sharing_period_s < 1, "these tests wait for looks"
