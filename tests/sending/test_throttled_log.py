"""An outage is one log line a minute, and one when it is over, however often it is met."""

import errno
import socket
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import structlog
from pydantic import SecretStr

from drumbeat.emulator.config import EmulatorConfig, NumberConfig
from drumbeat.emulator.testing import running_emulator
from drumbeat.engine import app, backoff
from drumbeat.engine.api.lane_connection import Lane
from drumbeat.engine.api.lanes import LaneTransport
from drumbeat.engine.clock import SECOND_NS
from drumbeat.engine.core.retry import Wait
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.store.database import Pool, open_pool
from tests.kit.proxy import proxied
from tests.sending.planted import SLOW, plant_campaign, plant_numbers
from tests.sending.running import (
    HIGH_RATE_PER_S,
    QUICK,
    Runner,
    assert_counts,
    assert_each_once,
    serving,
    shortest_span_us,
    started,
    until,
    written_us,
)

LIMIT_PER_S = 300.0


@pytest.fixture
def lines() -> Iterator[Counter[str]]:
    """Log lines by event, as they are written."""
    counted: Counter[str] = Counter()

    def count(_: object, __: str, event: Any) -> Any:
        counted[event["event"]] += 1
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[count])
    yield counted
    structlog.configure(**before)


@pytest.fixture
def met(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each problem was met, whether logged or not."""
    counted: Counter[str] = Counter()
    real = ThrottledLog.report

    def count(self: ThrottledLog, **what: Any) -> None:
        counted[self._event] += 1
        real(self, **what)

    monkeypatch.setattr(ThrottledLog, "report", count)
    return counted


async def test_a_database_that_is_away_is_a_line_and_another_when_it_is_back(
    pool: Pool,
    database_url: str,
    lines: Counter[str],
    met: Counter[str],
) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: LIMIT_PER_S})
        campaign = await plant_campaign(connection, recipients=900)
    parts = urlsplit(database_url)
    server = Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432"
    async with proxied(server) as proxy:
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}"
        async with (
            open_pool(url, size=8) as through,
            serving() as emulator,
            started(through, emulator, campaign, timing=replace(QUICK, down_s=0.05)) as runner,
        ):
            await until(lambda: len(emulator.service.ledger) >= 50)
            proxy.cut_after = 0
            proxy.reset()
            await until(lambda: met["database_lost"] >= 20)
            assert lines["database_lost"] == 1
            assert lines["outcomes_not_stored"] <= 1
            assert lines["database_back"] == 0
            proxy.flow()
            assert (await runner.end()).state == "finished"
            assert lines["database_back"] == 1
            assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=900)


async def test_a_service_that_is_away_is_a_line_and_then_gets_no_more_than_its_pace(
    pool: Pool,
    lines: Counter[str],
    met: Counter[str],
    waits: list[tuple[Wait, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(app, "wait_s", backoff.wait_s)  # short, as `waits` made it
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: LIMIT_PER_S})
        campaign = await plant_campaign(connection, recipients=900)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = ServiceSettings(f"http://127.0.0.1:{port}", SecretStr(EmulatorConfig().token))
    runner = Runner(pool, settings, (SLOW,), campaign.campaign_id)
    await until(lambda: met["service_unreachable"] >= 10)
    assert lines["service_unreachable"] == 1
    assert lines["service_back"] == 0
    back = EmulatorConfig(port=port, numbers=(NumberConfig(SLOW, HIGH_RATE_PER_S),))
    async with running_emulator(back) as emulator:
        assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)
    assert lines["service_back"] == 1
    openings = [attempt for kind, attempt in waits if kind is Wait.UNREACHABLE]
    assert max(openings) >= 5, "it waited longer and longer"
    await assert_counts(pool, campaign, accepted=900)
    times = await written_us(pool, SLOW)
    assert shortest_span_us(times, int(LIMIT_PER_S)) >= 1_000_000, "no second makes up for the outage"


async def test_the_return_of_file_descriptors_is_logged(
    pool: Pool, lines: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    timing = replace(QUICK, descriptors_quiet_ns=SECOND_NS // 5)
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: LIMIT_PER_S})
        campaign = await plant_campaign(connection, recipients=300)
    real, lacking = LaneTransport._connect, 5

    async def lack(self: LaneTransport) -> Lane:
        nonlocal lacking
        lacking -= 1
        if lacking >= 0:
            raise OSError(errno.EMFILE, "Too many open files")
        return await real(self)

    monkeypatch.setattr(LaneTransport, "_connect", lack)
    async with serving() as emulator, started(pool, emulator, campaign, timing=timing) as runner:
        assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)
    assert (lines["descriptors_short"], lines["descriptors_again"]) == (1, 1)
    assert lines["service_unreachable"] == 0
