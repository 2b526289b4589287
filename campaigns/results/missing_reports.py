"""A test of whether the service's reports about a campaign arrive at all."""

from datetime import datetime

from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Pool

# As long as what counts as a gap in a number's events: reports usually come within seconds.
MISSING_S = 300.0


async def reports_missing_since(
    pool: Pool, campaign_id: int, *, after_s: float = MISSING_S
) -> datetime | None:
    """Return when the oldest message without a report was accepted, if nothing was reported since.

    None while reports come. A phone that is merely off does not count: other messages are reported on then.
    """
    found: datetime | None = await pool.fetchval(
        statements("missing_reports")["missing_since"], campaign_id, after_s
    )
    return found
