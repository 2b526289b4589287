"""Metrics of a sending process: a number that is late, results that wait, and a database that is away."""

import asyncio
import json
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest

from drumbeat.engine.clock import monotonic_ns, suspend_aware_ns
from drumbeat.engine.core.lease import CLAIM_VALID_S
from drumbeat.engine.core.pace.token_bucket import TokenBucket
from drumbeat.engine.core.units import SECOND_NS
from drumbeat.engine.process.settings import MetricsAddress
from drumbeat.engine.sending.dispatcher import Dispatcher
from drumbeat.engine.store.database import Pool, open_pool
from tests.kit.ports import free_port
from tests.metrics_text import scrape, value
from tests.sending.fakes import FakeTransport, Outcomes, claimed
from tests.sending.planted import SLOW, plant_campaign, plant_numbers
from tests.sending.running import HIGH_RATE_PER_S, fault, serving, started, until

AT_NS = 10 * SECOND_NS


@pytest.mark.parametrize(
    ("after_ns", "late_ns"),
    [
        (0, 0),  # not due yet
        (SECOND_NS // 10, 0),
        (SECOND_NS, SECOND_NS * 9 // 10),
    ],
)
def test_a_permit_is_late_from_the_moment_it_is_due(after_ns: int, late_ns: int) -> None:
    bucket = TokenBucket(10 / 0.995, AT_NS)
    assert bucket.late_ns(AT_NS + after_ns) == pytest.approx(late_ns, abs=SECOND_NS // 1000)


def test_the_guard_of_the_last_second_is_no_lateness() -> None:
    bucket = TokenBucket(1.0, AT_NS)
    assert bucket.take(AT_NS + 2 * SECOND_NS)
    assert bucket.late_ns(AT_NS + 3 * SECOND_NS) == 0


async def test_a_number_is_late_only_for_a_message_that_waits_and_no_longer_than_it_waits() -> None:
    bucket = TokenBucket(1000, monotonic_ns() - 3600 * SECOND_NS)
    dispatcher = Dispatcher("1", FakeTransport(keeps=False), bucket, Outcomes())
    assert dispatcher.late_ns(monotonic_ns()) == 0
    ago_ns = SECOND_NS // 2
    expires_ns = suspend_aware_ns() + int(CLAIM_VALID_S * SECOND_NS) - ago_ns
    dispatcher.send([claimed(1)._replace(expires_ns=expires_ns)])
    assert ago_ns <= dispatcher.late_ns(monotonic_ns()) < int(CLAIM_VALID_S * SECOND_NS)
    dispatcher.release_queue()


async def test_a_worker_without_its_database_says_so(server_url: str, database_url: str) -> None:
    name, port = urlsplit(database_url).path[1:], free_port()
    url = f"http://127.0.0.1:{port}"

    def reasons() -> list[str]:
        try:
            text = scrape(f"{url}/readyz")
        except HTTPError as answer:
            assert answer.code == 503
            text = answer.read().decode()
        return [reason["code"] for reason in json.loads(text)["reasons"]]

    async def until_reasons(wanted: list[str]) -> None:
        async with asyncio.timeout(60):
            while await asyncio.to_thread(reasons) != wanted:
                await asyncio.sleep(0.05)

    async with (
        open_pool(server_url, size=1) as server,
        open_pool(database_url, size=6, by_key=True) as pool,
        serving() as emulator,
    ):
        async with pool.acquire() as connection:
            await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        async with started(pool, emulator, metrics=MetricsAddress("127.0.0.1", port)):
            await until_port_answers(port)
            await until_reasons([])
            text = await asyncio.to_thread(scrape, f"{url}/metrics")
            assert value(text, "drumbeat_database_up") == 1
            assert value(text, "drumbeat_number_owned", number=SLOW) == 1
            await server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            await server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
            )
            await until_reasons(["database_away"])
            text = await asyncio.to_thread(scrape, f"{url}/metrics")
            assert value(text, "drumbeat_database_up") == 0
            await server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            await until_reasons([])


async def until_port_answers(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
            else:
                writer.close()
                return


async def test_results_that_wait_have_an_age_until_they_are_stored(pool: Pool) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/metrics"
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        campaign = await plant_campaign(connection, recipients=50)
    async with serving() as emulator, pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("LOCK TABLE outcomes IN EXCLUSIVE MODE")
        async with started(pool, emulator, campaign, metrics=MetricsAddress("127.0.0.1", port)):
            await until_port_answers(port)
            await until(lambda: len(emulator.service.ledger) == 50)
            async with asyncio.timeout(30):
                while value(await asyncio.to_thread(scrape, url), "drumbeat_results_waiting") != 50:
                    await asyncio.sleep(0.01)
            before = value(await asyncio.to_thread(scrape, url), "drumbeat_results_oldest_seconds")
            after = value(await asyncio.to_thread(scrape, url), "drumbeat_results_oldest_seconds")
            assert before is not None and after is not None and 0 < before < after
            await transaction.rollback()


async def test_a_service_that_is_down_shows_and_leaves_the_worker_ready(pool: Pool) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: HIGH_RATE_PER_S})
        campaign = await plant_campaign(connection, recipients=100)
    down = fault("server-error", status=503)
    async with (
        serving(down) as emulator,
        started(pool, emulator, campaign, metrics=MetricsAddress("127.0.0.1", port)),
    ):
        await until_port_answers(port)
        async with asyncio.timeout(30):
            while not value(
                text := await asyncio.to_thread(scrape, f"{url}/metrics"), "drumbeat_circuit_breaker_open"
            ):
                await asyncio.sleep(0.01)
            while value(text, "drumbeat_rate_permitted", number=SLOW):  # it probes just now
                text = await asyncio.to_thread(scrape, f"{url}/metrics")
        assert value(text, "drumbeat_rate_limit", number=SLOW) == HIGH_RATE_PER_S
        ready = json.loads(await asyncio.to_thread(scrape, f"{url}/readyz"))
        assert ready == {"ready": True, "reasons": []}
