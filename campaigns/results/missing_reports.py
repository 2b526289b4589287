"""Whether the service's reports about a campaign come at all."""

from datetime import datetime

from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Pool

# As long as what counts as a gap in a number's events: reports usually come within seconds.
MISSING_S = 300.0


async def reports_missing_since(
    pool: Pool, campaign_id: int, *, after_s: float = MISSING_S
) -> datetime | None:
    """When the oldest message was accepted that has no report, if nothing was reported since.

    None while reports come, and while a phone is merely off: other messages are reported on then.
    """
    found: datetime | None = await pool.fetchval(
        statements("missing_reports")["missing_since"], campaign_id, after_s
    )
    return found
