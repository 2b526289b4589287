"""The results and reasons of campaigns that somebody looks at: read in the background, shared by all who
look.

Each recipient is read, so a large campaign takes minutes. Nobody waits for that: a page shows the previous
results, and when they were read.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.prices import PriceTable, read_prices
from drumbeat.campaigns.results.report import CampaignReasons, campaign_reasons
from drumbeat.campaigns.results.results import CampaignResults, campaign_results
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.store.database import LOST_CONNECTION, Pool

T = TypeVar("T")

KEPT_MAX = 50  # campaigns; the one that was not looked at for longest goes
FRESH_S = 2.0
# Results are read again after so many times what the reading took: a page that stays open costs the database
# at most a twentieth of one connection.
REST = 20
SOON_S = 0.08  # how long a page waits for a reading: nearly all campaigns take less

log = get_logger(__name__)


Note = Callable[[int], None]


@dataclass(slots=True)
class Reading(Generic[T]):
    """A reading of a campaign. `counted`: how many recipients the reading under way has counted so far, or
    None if none is under way.
    """

    results: T | None = None
    counted: int | None = None
    due_s: float = 0.0
    task: asyncio.Task[None] | None = None


class Readings(ABC, Generic[T]):
    """The readings by campaign id. Readings of several campaigns take turns."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._turn = asyncio.Lock()
        self._readings: OrderedDict[int, Reading[T]] = OrderedDict()

    @abstractmethod
    async def _results(self, campaign_id: int, note: Note) -> T: ...

    async def look(self, campaign_id: int) -> Reading[T]:
        """Return the last reading. If a new one is due, start it and wait for it for a moment."""
        reading = self._readings.setdefault(campaign_id, Reading())
        self._readings.move_to_end(campaign_id)
        self._forget_others()
        if reading.counted is None and time.monotonic() >= reading.due_s:
            reading.counted = 0
            reading.task = asyncio.create_task(self._read(campaign_id, reading))
        if reading.task is not None:
            await asyncio.wait([reading.task], timeout=SOON_S)
        return reading

    def _forget_others(self) -> None:
        for campaign_id in list(self._readings)[:-KEPT_MAX]:
            if self._readings[campaign_id].counted is None:
                del self._readings[campaign_id]

    async def _read(self, campaign_id: int, reading: Reading[T]) -> None:
        def note(counted: int) -> None:
            reading.counted = counted

        began_s = time.monotonic()
        try:
            reading.results = await self._results(campaign_id, note)
        except LOST_CONNECTION as problem:
            log.warning("results_not_read", campaign_id=campaign_id, problem=type(problem).__name__)
        except Exception:
            log.exception("results_not_read", campaign_id=campaign_id)
        finally:
            reading.counted, reading.task = None, None
            took_s = time.monotonic() - began_s
            reading.due_s = time.monotonic() + max(FRESH_S, REST * took_s)

    async def close(self) -> None:
        """End the readings under way."""
        tasks = [reading.task for reading in self._readings.values() if reading.task is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task


class ResultReadings(Readings[CampaignResults]):
    """The readings of results. A turn is a hundred ranges. `prices`: the file with the table of prices."""

    def __init__(self, pool: Pool, prices: Path | None = None) -> None:
        super().__init__(pool)
        self._prices = prices

    async def _results(self, campaign_id: int, note: Note) -> CampaignResults:
        prices = await asyncio.to_thread(self._read_prices)
        return await campaign_results(self._pool, campaign_id, prices, turn=self._turn, note=note)

    def _read_prices(self) -> PriceTable | None:
        """Return the table of prices, or None if it cannot be read: results are useful without their cost,
        too.
        """
        try:
            return None if self._prices is None else read_prices(self._prices)
        except ConfigurationError as error:
            log.warning("prices_not_read", problem=error.what, where=error.where)
            return None


class ReasonReadings(Readings[CampaignReasons]):
    """The readings of reasons. A turn is a campaign: 20 µs for each recipient who has a reason."""

    async def _results(self, campaign_id: int, note: Note) -> CampaignReasons:  # noqa: ARG002
        async with self._turn:
            return await campaign_reasons(self._pool, campaign_id)


def result_readings(console: Console) -> ResultReadings:
    return ResultReadings(console.pool, console.settings.prices)


def reason_readings(console: Console) -> ReasonReadings:
    return ReasonReadings(console.pool)
