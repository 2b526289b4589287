"""The number of days in which the messaging limits of a campaign's numbers allow it."""

from collections.abc import Sequence

from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.forecast import NumberLimits, NumberShare, shares
from drumbeat.engine.core.limits.quota import QuotaScope
from drumbeat.engine.sending.number_sync import DEFAULT_LIMIT_PER_S
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.quota import read_number_standings


async def number_limits(pool: Pool, phone_number_ids: Sequence[str]) -> list[NumberLimits]:
    """Return the limits of stored numbers, and how much of their messaging limits they have used."""
    rows = await pool.fetch(statements("preview")["numbers"], list(phone_number_ids), DEFAULT_LIMIT_PER_S)
    standings = await read_number_standings(pool)
    used = {number: standing.used for number, standing in standings.items()}
    return [NumberLimits(**dict(row), people_used=used.get(row["phone_number_id"], 0)) for row in rows]


async def days_needed(pool: Pool, phone_number_ids: Sequence[str], recipients: int, scope: QuotaScope) -> int:
    """Return in how many periods of 24 hours, at least, the messaging limits allow so many recipients."""
    return days_of(shares(recipients, await number_limits(pool, phone_number_ids), scope))


def days_of(divided: Sequence[NumberShare]) -> int:
    """Return how many periods of 24 hours the numbers need together."""
    return max((number.days for number in divided), default=1)
