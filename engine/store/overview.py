"""The overview of the whole installation for metrics, read at most once in a few seconds."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import asyncpg

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.limits.quota import QuotaStanding
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.quota import read_number_standings

PERIOD_NS = 5 * SECOND_NS  # one read in this time, however often somebody scrapes
READ_S = 2.0  # Prometheus waits for 10 s; a database that takes longer than this shows as away
# The limits of labels. More campaigns at the same time, or more numbers, are left out.
CAMPAIGNS_MAX = 100
NUMBERS_MAX = 2_000
UNMATCHED_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Overview:
    """The rows of `overview.sql`."""

    campaigns: Sequence[asyncpg.Record]
    current_campaigns: Sequence[asyncpg.Record]
    numbers: Sequence[asyncpg.Record]
    inbox: asyncpg.Record
    quotas: Mapping[str, QuotaStanding]  # standings by number


class OverviewReader:
    """A reader of the overview. `latest` is None while the database does not answer: old facts would look
    like present ones.
    """

    def __init__(self, pool: Pool) -> None:
        self.latest: Overview | None = None
        self._pool = pool
        self._read_ns = -PERIOD_NS
        self._reading = asyncio.Lock()

    async def refresh(self) -> None:
        """Read again if the period is over. Several callers at a time cause one read."""
        async with self._reading:
            if monotonic_ns() - self._read_ns < PERIOD_NS:
                return
            try:
                async with asyncio.timeout(READ_S):
                    self.latest = await self._read()
            except LOST_CONNECTION:
                self.latest = None
            self._read_ns = monotonic_ns()

    async def _read(self) -> Overview:
        sql = queries("overview")
        async with self._pool.acquire(timeout=READ_S) as connection:
            inbox = await connection.fetchrow(sql["inbox"], UNMATCHED_MAX)
            assert inbox is not None
            return Overview(
                await connection.fetch(sql["campaigns"]),
                await connection.fetch(sql["current_campaigns"], CAMPAIGNS_MAX),
                await connection.fetch(sql["numbers"], NUMBERS_MAX),
                inbox,
                await read_number_standings(connection),
            )
