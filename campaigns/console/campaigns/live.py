"""The readings that many people share: each is made at most once in a period, however many look. Also the
rates at which a campaign was sent.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Generic, TypeVar, cast

from drumbeat.campaigns.results.campaign_pages import CampaignPage, read_counts, with_counts
from drumbeat.campaigns.results.missing_reports import MISSING_S, reports_missing_since
from drumbeat.campaigns.results.rates import RateHistory, read_rates
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status, measured_per_s
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool

T = TypeVar("T")

PERIOD_S = 1.0
KEPT_MAX = 200  # campaigns whose readings are kept; the one that was not looked at for longest goes
HISTORY = 10  # readings of a campaign, of which a rate is made
NUMBERS_DRAWN = 12  # more are only in the table
RATES_PERIOD_S = 10.0  # samples come no faster
COUNTS_PERIOD_S = 2.0
COUNTS_REST = 20  # an open list costs the database at most a twentieth of one connection
MISSING_PERIOD_S = MISSING_S / 10  # a reading may take 20 ranges
RATE_S = 5.0  # requests are counted in batches: over this time a rate is steady


@dataclass(slots=True)
class _Reading(Generic[T]):
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    value: T | None = None
    error: Exception | None = None
    read_s: float = float("-inf")
    took_s: float = 0.0


class SharedReadings(Generic[T]):
    """The readings by key. Callers of the same key within the period share one read. An error is shared for
    `PERIOD_S` at most, because its cause may be gone by then. `rest`: a value is kept for this many times the
    duration of its reading, if that is longer than the period.
    """

    def __init__(
        self, read: Callable[[str], Awaitable[T]], period_s: float = PERIOD_S, rest: float = 0.0
    ) -> None:
        self._read = read
        self._period_s = period_s
        self._rest = rest
        self._readings: OrderedDict[str, _Reading[T]] = OrderedDict()

    async def get(self, key: str) -> T:
        """Return the value. It is not older than the period, or than the rest if that is longer."""
        reading = self._readings.setdefault(key, _Reading())
        self._readings.move_to_end(key)
        if len(self._readings) > KEPT_MAX:
            self._readings.popitem(last=False)
        async with reading.lock:
            if time.monotonic() - reading.read_s >= self._kept_s(reading):
                began_s = time.monotonic()
                reading.value, reading.error = await self._attempt(key)
                reading.read_s = time.monotonic()
                reading.took_s = reading.read_s - began_s
            if reading.error is not None:
                raise reading.error.with_traceback(None)
            return cast("T", reading.value)  # a reading without an error has one

    def forget(self) -> None:
        """Read anew from now on. A caller that waits for a reading under way still gets its value; later
        callers do not.
        """
        self._readings.clear()

    def _kept_s(self, reading: _Reading[T]) -> float:
        if reading.error is not None:
            return min(self._period_s, PERIOD_S)
        return max(self._period_s, self._rest * reading.took_s)

    async def _attempt(self, key: str) -> tuple[T | None, Exception | None]:
        try:
            return await self._read(key), None
        except Exception as error:
            return None, error


@dataclass(frozen=True, slots=True)
class Sample:
    """A status, and the time when it was read."""

    at_s: float
    status: CampaignStatus


class CampaignWatch:
    """The latest statuses of campaigns that somebody looks at."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._counts = SharedReadings(self._read_counts, COUNTS_PERIOD_S, COUNTS_REST)
        self._samples: OrderedDict[str, deque[Sample]] = OrderedDict()
        self._shared = SharedReadings(self._read)
        self._rates = SharedReadings(self._read_rates, RATES_PERIOD_S)
        self._missing = SharedReadings(self._read_missing, MISSING_PERIOD_S)

    async def status(self, campaign_id: int) -> CampaignStatus:
        """Return the status with the rate of the last seconds. The first look has no rate."""
        return await self._shared.get(str(campaign_id))

    def forget(self) -> None:
        """Read statuses anew, because somebody changed a campaign."""
        self._shared.forget()

    async def counted(self, found: CampaignPage) -> CampaignPage:
        """Return a page of a list with the progress of each campaign's messages."""
        if not found.campaigns:
            return found
        key = " ".join(str(each.campaign_id) for each in found.campaigns)
        return with_counts(found, await self._counts.get(key))

    async def rates(self, status: CampaignStatus, campaign_id: int) -> RateHistory:
        """Return the rates of the numbers that are drawn, from the beginning of the campaign."""
        shown = [number.phone_number_id for number in status.numbers[:NUMBERS_DRAWN]]
        return await self._rates.get(f"{campaign_id} {','.join(shown)}")

    async def reports_missing_since(self, campaign_id: int) -> datetime | None:
        """Return the time since when reports are missing; see `campaigns.results.missing_reports`."""
        return await self._missing.get(str(campaign_id))

    async def _read_counts(self, key: str) -> dict[int, dict[RecipientState, int]]:
        return await read_counts(self._pool, [int(each) for each in key.split()])

    async def _read_missing(self, key: str) -> datetime | None:
        return await reports_missing_since(self._pool, int(key))

    async def _read_rates(self, key: str) -> RateHistory:
        campaign_id, _, numbers = key.partition(" ")
        return await read_rates(self._pool, int(campaign_id), numbers.split(","))

    async def _read(self, key: str) -> CampaignStatus:
        status = await campaign_status(self._pool, int(key))
        now = Sample(time.monotonic(), status)
        samples = self._samples.setdefault(key, deque(maxlen=HISTORY))
        self._samples.move_to_end(key)
        if len(self._samples) > KEPT_MAX:
            self._samples.popitem(last=False)
        if samples and now.at_s - samples[-1].at_s > 10 * PERIOD_S:
            samples.clear()  # nobody looked meanwhile: a line across the gap would be made up
        if not samples or now.at_s - samples[-1].at_s >= PERIOD_S:
            samples.append(now)
        return _with_rate(samples, now)


def _with_rate(samples: deque[Sample], now: Sample) -> CampaignStatus:
    before = next((sample for sample in reversed(samples) if now.at_s - sample.at_s >= RATE_S), samples[0])
    elapsed_s = now.at_s - before.at_s
    if elapsed_s < PERIOD_S:
        return now.status
    return replace(now.status, measured_per_s=measured_per_s(before.status, now.status, elapsed_s))
