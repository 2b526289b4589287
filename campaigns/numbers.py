"""The business numbers that may send, and how fast: as the service grants it, or as a person set it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from campaigns.describe_database import place
from engine.errors import ConfigurationError, UsageError
from engine.sending import number_sync
from engine.sending.number_sync import DEFAULT_LIMIT_PER_S, NumbersSource
from engine.store.database import Pool
from engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class Number:
    """A business number. `owner`: who sends with it now; `limit_is_manual`: set by a person.

    `stopped`: the service stopped it, and only a person ends that; `suspended_until`: a rest that ends by
    itself.
    """

    phone_number_id: str
    display_phone_number: str | None
    verified_name: str | None
    quality_rating: str | None
    messaging_limit_tier: str | None
    status: str | None
    limit_per_s: float
    limit_is_manual: bool
    rate_per_s: float | None
    throttles: int
    owner: str | None
    stopped: bool
    suspended_until: datetime | None
    suspended_reason: str | None
    synced_at: datetime | None


async def sync_numbers(pool: Pool, source: NumbersSource, waba_id: str) -> list[Number]:
    """Read the account's numbers from the service and store them; returns all numbers that are stored."""
    await number_sync.sync_numbers(pool, source, waba_id)
    return await list_numbers(pool)


async def list_numbers(pool: Pool) -> list[Number]:
    """All numbers, by id."""
    rows = await pool.fetch(queries("numbers")["list"], DEFAULT_LIMIT_PER_S)
    return [Number(**dict(row)) for row in rows]


async def set_limit(pool: Pool, phone_number_id: str, limit_per_s: float | None) -> None:
    """Set a person's limit, any positive rate; None goes back to the service's. A running owner follows.

    UsageError for a rate that is not positive, ConfigurationError for a number that is not stored.
    """
    if limit_per_s is not None and not 0 < limit_per_s < float("inf"):
        raise UsageError(f"a limit is a positive rate in messages per second, not {limit_per_s:g}")
    found = await pool.fetchval(queries("numbers")["set_limit"], phone_number_id, limit_per_s)
    if found is None:
        raise ConfigurationError(
            f"there is no number {phone_number_id}",
            where=await place(pool),
            remedy="run `drumbeat numbers sync`",
        )
