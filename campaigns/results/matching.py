"""The actions on all recipients of a campaign that match a filter."""

from drumbeat.campaigns.actor import note_audit
from drumbeat.campaigns.phones.suppression import SuppressionCounts, suppress_recipients
from drumbeat.campaigns.progress import PlanProgress, ProgressCallback, no_progress
from drumbeat.campaigns.results.export import matching_records
from drumbeat.campaigns.stored_recipients import ExportFilter
from drumbeat.engine.store.database import Pool


async def suppress_matching(
    pool: Pool,
    campaign_id: int,
    wanted: ExportFilter,
    reason: str,
    progress: ProgressCallback = no_progress,
    *,
    actor: str,
) -> SuppressionCounts:
    """Put the matching recipients on the suppression list, page by page. To finish an interrupted call,
    repeat it.

    Raise UsageError for a reason that is empty or too long.
    """
    changed = unchanged = 0
    async for page in matching_records(pool, campaign_id, wanted):
        phones = [record["phone"] for record, _ in page if record["phone"] > 0]  # below 0: forgotten people
        async with pool.acquire() as connection, connection.transaction():
            counts = await suppress_recipients(connection, phones, reason)
            if counts.changed:
                await note_audit(
                    connection, actor, "suppress", campaign_id, source="hand", phones=counts.changed
                )
        changed, unchanged = changed + counts.changed, unchanged + counts.unchanged
        progress(PlanProgress("suppressing", 0, 0, changed + unchanged))
    return SuppressionCounts(changed, unchanged)
