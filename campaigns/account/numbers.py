"""The business numbers and their limits, set by the service or by a person."""

from dataclasses import dataclass
from datetime import datetime

from campaigns.describe_database import describe_database
from engine.errors import ConfigurationError, UsageError
from engine.sending import number_sync
from engine.sending.number_sync import DEFAULT_LIMIT_PER_S, NumbersSource
from engine.store.database import Pool
from engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class BusinessNumber:
    """A business number. `owner`: the process that sends with it now; `limit_is_manual`: a person set it.

    `stopped`: until a person resumes it; `suspended_until`: a rest that ends by itself.
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


async def sync_numbers(pool: Pool, source: NumbersSource, waba_id: str) -> list[BusinessNumber]:
    """Read the account's numbers from the service and store them; return all stored numbers."""
    await number_sync.sync_numbers(pool, source, waba_id)
    return await list_numbers(pool)


async def list_numbers(pool: Pool) -> list[BusinessNumber]:
    """All stored numbers, ordered by id."""
    rows = await pool.fetch(queries("numbers")["list"], DEFAULT_LIMIT_PER_S)
    return [BusinessNumber(**dict(row)) for row in rows]


async def set_limit(pool: Pool, phone_number_id: str, limit_per_s: float | None) -> None:
    """Set a limit by hand, any positive rate; None restores the service's limit. A running owner follows.

    UsageError if the rate is not positive, ConfigurationError if the number is not stored.
    """
    if limit_per_s is not None and not 0 < limit_per_s < float("inf"):
        raise UsageError(f"a limit must be a positive rate in messages per second, not {limit_per_s:g}")
    found = await pool.fetchval(queries("numbers")["set_limit"], phone_number_id, limit_per_s)
    if found is None:
        raise ConfigurationError(
            f"there is no number {phone_number_id}",
            where=await describe_database(pool),
            remedy="run `drumbeat numbers sync`",
        )
