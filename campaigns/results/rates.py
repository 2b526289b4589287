"""The rate of each number for a campaign, from its first request to its latest, by stored samples."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Pool

SLOTS_MAX = 120  # of a chart: about one a pixel or two on a telephone
SLOT_S_MIN = 10.0  # samples are no closer, so a shorter slot would show noise


@dataclass(frozen=True, slots=True)
class RateSample:
    """The requests that a number had made for the campaign by a moment, and how many were throttled."""

    at: datetime
    attempts: int
    throttled: int


@dataclass(frozen=True, slots=True)
class RateLine:
    """The rate of one number in slots of equal length. All lines of a campaign have the same slots."""

    phone_number_id: str
    per_s: tuple[float, ...]
    throttled: int

    @property
    def peak_per_s(self) -> float:
        return max(self.per_s)


@dataclass(frozen=True, slots=True)
class RateHistory:
    """The lines of the numbers that sent anything, over one span of time; None before that."""

    begins: datetime | None = None
    ends: datetime | None = None
    lines: tuple[RateLine, ...] = ()

    def as_json(self) -> dict[str, Any]:
        numbers = [
            {**asdict(line), "per_s": [round(per_s, 2) for per_s in line.per_s]} for line in self.lines
        ]
        return {"begins": self.begins, "ends": self.ends, "numbers": numbers}


async def read_rates(pool: Pool, campaign_id: int, phone_number_ids: Sequence[str]) -> RateHistory:
    """Return the rates of these numbers. A day costs a thousand rows for each number."""
    rows = await pool.fetch(statements("rates")["of_campaign"], campaign_id, phone_number_ids)
    samples: dict[str, list[RateSample]] = {}
    for row in rows:
        samples.setdefault(row["phone_number_id"], []).append(
            RateSample(row["at"], row["attempts"], row["throttled"])
        )
    return history_of(samples)


def history_of(samples: Mapping[str, Sequence[RateSample]]) -> RateHistory:
    """Return the rates in slots. Each number's samples must be in the order of time. Between two of them, the
    rate counts as even.
    """
    kept = {number: found for number, given in samples.items() if len(found := _rising(given)) > 1}
    if not kept:
        return RateHistory()
    begins = min(found[0].at for found in kept.values())
    ends = max(found[-1].at for found in kept.values())
    length_s = max((ends - begins).total_seconds(), 1.0)
    slots = int(min(max(length_s / SLOT_S_MIN, 1), SLOTS_MAX))
    edges = [begins + timedelta(seconds=length_s * slot / slots) for slot in range(slots + 1)]
    slot_s = length_s / slots
    return RateHistory(
        begins, ends, tuple(_line(number, found, edges, slot_s) for number, found in kept.items())
    )


def _rising(samples: Sequence[RateSample]) -> list[RateSample]:
    """Return the samples without those that go back. Requests are counted up to a batch after they are made,
    so a sample may lack the latest ones.
    """
    found: list[RateSample] = []
    for sample in samples:
        if not found or sample.attempts >= found[-1].attempts:
            found.append(sample)
    return found


def _line(number: str, samples: Sequence[RateSample], edges: Sequence[datetime], slot_s: float) -> RateLine:
    moments = [sample.at for sample in samples]
    made = [_made_by(edge, samples, moments) for edge in edges]
    per_s = tuple((after - before) / slot_s for before, after in itertools.pairwise(made))
    return RateLine(number, per_s, samples[-1].throttled)


def _made_by(edge: datetime, samples: Sequence[RateSample], moments: Sequence[datetime]) -> float:
    """Return how many requests were made by this moment."""
    after = bisect_right(moments, edge)
    if after == 0:
        return 0.0
    if after == len(samples):
        return float(samples[-1].attempts)
    before, following = samples[after - 1], samples[after]
    share = (edge - before.at) / (following.at - before.at)
    return before.attempts + share * (following.attempts - before.attempts)
