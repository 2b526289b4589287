"""Runs a campaign against the emulator in one loop, waits for states, and checks the ledger afterwards."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

from pydantic import SecretStr

from drumbeat.emulator.config import EmulatorConfig, FaultConfig, NumberConfig
from drumbeat.emulator.testing import Emulator, running_emulator
from drumbeat.engine.app import run_numbers
from drumbeat.engine.clock import SECOND_NS
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.process.settings import MetricsAddress, ServiceSettings
from drumbeat.engine.sending.timing import Timing
from drumbeat.engine.sending.worker import RunEnd
from drumbeat.engine.store.database import Pool
from tests.sending.planted import SLOW, Planted, assert_range_counters_hold, counts

PATIENCE_S = 30.0  # only a broken promise waits so long
HIGH_RATE_PER_S = 2_000.0
# Ranges are released, campaigns finished and the actions of people read some ten times as often.
QUICK = Timing(
    control_period_s=0.05,
    sharing_period_s=0.05,
    health_period_s=0.05,
    idle_s=0.05,
    release_period_ns=SECOND_NS // 20,
    retry_period_ns=SECOND_NS // 40,
    retry_period_ns_max=SECOND_NS // 10,
)


@asynccontextmanager
async def serving(*faults: FaultConfig, **rates_per_s: float) -> AsyncIterator[Emulator]:
    """The emulator, with numbers by id (by default SLOW, at a rate that costs tests no time)."""
    numbers = tuple(NumberConfig(*item) for item in (rates_per_s or {SLOW: HIGH_RATE_PER_S}).items())
    async with running_emulator(EmulatorConfig(port=0, numbers=numbers, faults=faults)) as emulator:
        yield emulator


def fault(kind: str, probability: float = 1.0, count: int | None = None, **options: Any) -> FaultConfig:
    return FaultConfig(kind, probability, count, options)


def settings_of(emulator: Emulator, **others: Any) -> ServiceSettings:
    token = SecretStr(emulator.service.config.token)
    return ServiceSettings(**{"base_url": emulator.url, "access_token": token, **others})


class Runner:
    """One call of `run_numbers`, in a task."""

    def __init__(
        self,
        pool: Pool,
        settings: ServiceSettings,
        numbers: Sequence[str],
        campaign_id: int | None,
        disk: Disk | None = None,
        timing: Timing = QUICK,
        metrics: MetricsAddress | None = None,
    ):
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(
            run_numbers(
                pool,
                settings,
                phone_number_ids=numbers,
                campaign_id=campaign_id,
                stop=self.stop,
                disk=disk,
                timing=timing,
                metrics=metrics,
            )
        )

    async def end(self) -> RunEnd:
        async with asyncio.timeout(PATIENCE_S):
            return await self.task

    async def drained(self) -> RunEnd:
        self.stop.set()
        return await self.end()


@asynccontextmanager
async def started(
    pool: Pool,
    emulator: Emulator,
    campaign: Planted | None = None,
    numbers: Sequence[str] = (SLOW,),
    disk: Disk | None = None,
    timing: Timing = QUICK,
    metrics: MetricsAddress | None = None,
    **others: Any,
) -> AsyncIterator[Runner]:
    """A runner of one campaign, or a worker; always stopped at the end of the block."""
    campaign_id = campaign.campaign_id if campaign else None
    runner = Runner(pool, settings_of(emulator, **others), numbers, campaign_id, disk, timing, metrics)
    try:
        yield runner
    finally:
        runner.stop.set()
        await asyncio.wait([runner.task], timeout=PATIENCE_S)
        if not runner.task.done():
            runner.task.cancel()


async def run_to_end(
    pool: Pool, emulator: Emulator, campaign: Planted, numbers: Sequence[str] = (SLOW,), **others: Any
) -> RunEnd:
    async with started(pool, emulator, campaign, numbers, **others) as runner:
        return await runner.end()


async def until(holds: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    """Return when a state is reached; AssertionError after PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        held = holds()
        if held if isinstance(held, bool) else await held:
            return
        assert time.monotonic() < deadline, "the state was not reached"
        await asyncio.sleep(0.01)


async def until_sent(emulator: Emulator, messages: int) -> None:
    """Return when exactly so many messages were sent; AssertionError if none comes for PATIENCE_S: a slow machine is
    no broken promise.
    """
    sent = -1
    while sent != messages:
        before = sent
        await until(lambda before=before: len(emulator.service.ledger) > before)
        sent = len(emulator.service.ledger)
        assert sent <= messages, f"{sent} messages, more than {messages}"


async def stands_still(pool: Pool, emulator: Emulator, *, sent_min: int = 0) -> int:
    """Wait until sending has stopped and every claimed message was sent; returns how many were, at least so many."""

    async def still() -> bool:
        marked = await pool.fetchval("SELECT sum(claimed_through) FROM ranges")
        seen = len(emulator.service.ledger)
        await asyncio.sleep(0.5)
        return sent_min <= seen == len(emulator.service.ledger) == marked

    await until(still)
    return len(emulator.service.ledger)


def accepted_phones(emulator: Emulator) -> Counter[int]:
    """How often the service accepted a message to each recipient."""
    return Counter(int(row["to"]) for row in emulator.service.ledger.rows(0, 1_000_000))


def accepted_by_number(emulator: Emulator) -> Counter[str]:
    return Counter(row["phone_number_id"] for row in emulator.service.ledger.rows(0, 1_000_000))


def received_ns(emulator: Emulator, number: str) -> list[int]:
    rows = emulator.service.ledger.rows(0, 1_000_000)
    return [row["received_at_ns"] for row in rows if row["phone_number_id"] == number]


def assert_each_once(emulator: Emulator, *campaigns: Planted) -> None:
    """Each recipient of the campaigns was accepted exactly once, and no other recipient."""
    assert accepted_phones(emulator) == Counter(phone for campaign in campaigns for phone in campaign.phones)


async def assert_counts(pool: Pool, campaign: Planted, **wanted: int) -> None:
    """The campaign has these recipients by state and no others, and its range counters equal a recount."""
    async with pool.acquire() as connection:
        assert await counts(connection, campaign.campaign_id) == Counter(wanted)
        await assert_range_counters_hold(connection)


async def written_us(pool: Pool, number: str) -> list[int]:
    """When each accepted request of a number was written, in microseconds, in order."""
    async with pool.acquire() as connection:
        rows = await connection.fetch(
            "SELECT (extract(epoch FROM attempted_at) * 1000000)::bigint AS at FROM outcomes"
            " WHERE phone_number_id = $1 AND kind = 1 ORDER BY 1",
            number,
        )
    return [row["at"] for row in rows]


def shortest_span_us(times: Sequence[int], writes: int) -> int:
    """The least time between a write and the one `writes` later."""
    return min(later - earlier for earlier, later in zip(times, times[writes:], strict=False))


def longest_pause_ns(times: Sequence[int]) -> int:
    return max(later - earlier for earlier, later in pairwise(times))
