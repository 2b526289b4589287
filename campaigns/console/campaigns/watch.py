"""The readings of campaigns for all who look, and the rates at which a campaign was sent."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from drumbeat.campaigns.console.account.actions import NUMBERS
from drumbeat.campaigns.console.web.cache import PERIOD_S, Kind
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.results.campaign_pages import CampaignPage, read_counts, with_counts
from drumbeat.campaigns.results.missing_reports import MISSING_S, reports_missing_since
from drumbeat.campaigns.results.rates import RateHistory, read_rates
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status, measured_per_s
from drumbeat.engine.core.states import RecipientState

HISTORY = 10  # readings of a campaign, of which a rate is made
NUMBERS_DRAWN = 12  # more are only in the table
RATE_S = 5.0  # requests are counted in batches: over this time a rate is steady

# A campaign shows the state of its numbers, and a number the campaigns that wait for it.
STATUS: Kind[int, CampaignStatus] = Kind("status", of=(NUMBERS,))
CHANGED = (STATUS, NUMBERS)
# An open list costs the database at most a twentieth of one connection.
COUNTS: Kind[tuple[int, ...], Mapping[int, Mapping[RecipientState, int]]] = Kind(
    "counts", period_s=2.0, rest=20
)
RATES: Kind[tuple[int, tuple[str, ...]], RateHistory] = Kind("rates", period_s=10.0)  # samples come no faster
MISSING: Kind[int, datetime | None] = Kind("missing", period_s=MISSING_S / 10)  # a reading may take 20 ranges


@dataclass(frozen=True, slots=True)
class Sample:
    """A status, and the time when it was read."""

    at_s: float
    status: CampaignStatus


SAMPLES: Kind[int, deque[Sample]] = Kind("samples", period_s=float("inf"))


async def status_of(console: Console, campaign_id: int) -> CampaignStatus:
    """Return the status with the rate of the last seconds. The first look has no rate."""

    async def read() -> CampaignStatus:
        now = Sample(time.monotonic(), await campaign_status(console.pool, campaign_id))
        samples = await console.cache.get(SAMPLES, campaign_id, _no_samples)
        if samples and now.at_s - samples[-1].at_s > 10 * PERIOD_S:
            samples.clear()  # nobody looked meanwhile: a line across the gap would be made up
        if not samples or now.at_s - samples[-1].at_s >= PERIOD_S:
            samples.append(now)
        return _with_rate(samples, now)

    return await console.cache.get(STATUS, campaign_id, read)


async def _no_samples() -> deque[Sample]:
    return deque(maxlen=HISTORY)


def _with_rate(samples: deque[Sample], now: Sample) -> CampaignStatus:
    before = next((sample for sample in reversed(samples) if now.at_s - sample.at_s >= RATE_S), samples[0])
    elapsed_s = now.at_s - before.at_s
    if elapsed_s < PERIOD_S:
        return now.status
    return replace(now.status, measured_per_s=measured_per_s(before.status, now.status, elapsed_s))


async def counted(console: Console, found: CampaignPage) -> CampaignPage:
    """Return a page of a list with the progress of each campaign's messages."""
    if not found.campaigns:
        return found
    ids = tuple(each.campaign_id for each in found.campaigns)
    return with_counts(
        found, await console.cache.get(COUNTS, ids, lambda: read_counts(console.pool, list(ids)))
    )


async def rates_of(console: Console, status: CampaignStatus, campaign_id: int) -> RateHistory:
    """Return the rates of the numbers that are drawn, from the beginning of the campaign."""
    shown = [number.phone_number_id for number in status.numbers[:NUMBERS_DRAWN]]
    key = (campaign_id, tuple(shown))
    return await console.cache.get(RATES, key, lambda: read_rates(console.pool, campaign_id, shown))


async def missing_since(console: Console, campaign_id: int) -> datetime | None:
    """Return the time since when reports are missing; see `campaigns.results.missing_reports`."""
    return await console.cache.get(
        MISSING, campaign_id, lambda: reports_missing_since(console.pool, campaign_id)
    )
