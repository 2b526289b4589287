"""1,000 messages/s at one second of latency: a thousand in-flight requests, and the rate is reached."""

import asyncio
import re
import sys
from bisect import bisect_left

import pytest
from pydantic import SecretStr

from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.sending.timing import Timing
from drumbeat.engine.store.database import Pool
from tests.sending.planted import FAST, plant_campaign, plant_numbers
from tests.sending.running import PATIENCE_S, Runner, assert_counts, shortest_span_us, written_us

RATE_PER_S = 1_000
SERVE = [
    "-c", "from drumbeat.campaigns.cli.emulator import app; app()", "serve", "--port", "0", "--number", f"{FAST}:{2 * RATE_PER_S}",
    "--latency-ms", "1000", "--no-statuses",
]  # fmt: skip


@pytest.mark.slow
async def test_a_thousand_a_second_through_a_second_of_latency(pool: Pool) -> None:
    """The service is a process of its own: in the same loop it would slow down the process that is measured."""
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{FAST: RATE_PER_S})
        campaign = await plant_campaign(connection, recipients=10_000, numbers=(FAST,))
    serving = await asyncio.create_subprocess_exec(sys.executable, *SERVE, stdout=asyncio.subprocess.PIPE)
    try:
        assert serving.stdout is not None
        line = (await asyncio.wait_for(serving.stdout.readline(), PATIENCE_S)).decode()
        url = re.search(r"http://[^\"]+", line)
        assert url is not None, line
        settings = ServiceSettings(url.group(), SecretStr("emulator-token"))
        runner = Runner(pool, settings, (FAST,), campaign.campaign_id, timing=Timing())
        assert (await runner.end()).state == "finished"
    finally:
        serving.terminate()
        await serving.wait()
    await assert_counts(pool, campaign, accepted=10_000)
    times = await written_us(pool, FAST)
    assert shortest_span_us(times, RATE_PER_S) >= 1_000_000, "no sliding second is above the limit"
    best = max(bisect_left(times, at + 1_000_000) - index for index, at in enumerate(times))
    assert best >= 0.95 * RATE_PER_S, "as many requests open as rate times latency asks for"
