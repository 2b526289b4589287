"""What many look at: read at most once in a period, however many look; and how fast a campaign was sent."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Generic, TypeVar

from campaigns.results.status import CampaignStatus, campaign_status, measured_per_s
from engine.store.database import Pool

T = TypeVar("T")

PERIOD_S = 1.0
KEPT_MAX = 200  # campaigns whose readings are kept; the one that was not looked at for longest goes
HISTORY = 300  # readings of a campaign: five minutes of one that is looked at
RATE_S = 5.0  # requests are counted in batches: over this time a rate is steady


@dataclass(slots=True)
class _Reading(Generic[T]):
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    value: T | None = None
    error: Exception | None = None
    read_s: float = float("-inf")


class SharedReadings(Generic[T]):
    """Readings by key. Callers of the same key within the period share one read, and its error."""

    def __init__(self, read: Callable[[str], Awaitable[T]], period_s: float = PERIOD_S) -> None:
        self._read = read
        self._period_s = period_s
        self._readings: OrderedDict[str, _Reading[T]] = OrderedDict()

    async def get(self, key: str) -> T:
        """The value, not older than the period."""
        reading = self._readings.setdefault(key, _Reading())
        self._readings.move_to_end(key)
        if len(self._readings) > KEPT_MAX:
            self._readings.popitem(last=False)
        async with reading.lock:
            if time.monotonic() - reading.read_s >= self._period_s:
                reading.value, reading.error = await self._attempt(key)
                reading.read_s = time.monotonic()
            if reading.error is not None:
                raise reading.error.with_traceback(None)
            assert reading.value is not None
            return reading.value

    async def _attempt(self, key: str) -> tuple[T | None, Exception | None]:
        try:
            return await self._read(key), None
        except Exception as error:
            return None, error


@dataclass(frozen=True, slots=True)
class RatePoint:
    """What one number sent in the time before a reading."""

    at_s: float
    per_s: float


@dataclass(frozen=True, slots=True)
class Sample:
    """A status, and when it was read."""

    at_s: float
    status: CampaignStatus


class CampaignWatch:
    """The latest statuses of campaigns that somebody looks at."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._samples: OrderedDict[str, deque[Sample]] = OrderedDict()
        self._shared = SharedReadings(self._read)

    async def status(self, campaign_id: int) -> CampaignStatus:
        """The status with the rate of the last seconds; without a rate at the first look."""
        return await self._shared.get(str(campaign_id))

    def rates(self, campaign_id: int) -> dict[str, list[RatePoint]]:
        """The rate of each number since somebody began to look, five minutes at most."""
        samples = list(self._samples.get(str(campaign_id), ()))
        found: dict[str, list[RatePoint]] = {}
        for before, after in pairwise(samples):
            for was, now in zip(before.status.numbers, after.status.numbers, strict=False):
                per_s = (now.attempts - was.attempts) / max(after.at_s - before.at_s, 0.1)
                found.setdefault(now.phone_number_id, []).append(RatePoint(after.at_s, max(0.0, per_s)))
        return found

    async def _read(self, key: str) -> CampaignStatus:
        status = await campaign_status(self._pool, int(key))
        now = Sample(time.monotonic(), status)
        samples = self._samples.setdefault(key, deque(maxlen=HISTORY))
        self._samples.move_to_end(key)
        if len(self._samples) > KEPT_MAX:
            self._samples.popitem(last=False)
        if samples and now.at_s - samples[-1].at_s > 10 * PERIOD_S:
            samples.clear()  # nobody looked meanwhile: a line across the gap would be made up
        samples.append(now)
        return _with_rate(samples, status)


def _with_rate(samples: deque[Sample], status: CampaignStatus) -> CampaignStatus:
    now = samples[-1]
    before = next((sample for sample in reversed(samples) if now.at_s - sample.at_s >= RATE_S), samples[0])
    if before is now:
        return status
    return replace(status, measured_per_s=measured_per_s(before.status, status, now.at_s - before.at_s))
