"""The imports of suppression lists from uploads.

Each batch is stored as it is read. If the console ends during an import, another import of the file finishes
it.
"""

from __future__ import annotations

import asyncio

from drumbeat.campaigns.audience.check.glimpse import glimpse, guess_phone_column
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.options.sources import ALL_ROWS
from drumbeat.campaigns.phones.suppression import SuppressionCounts
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Pool


async def import_upload(
    pool: Pool,
    upload: Upload,
    *,
    reason: str,
    phone_column: str | None,
    region: str | None,
    actor: str,
    progress: ProgressCallback = no_progress,
) -> SuppressionCounts:
    """Import a list, as `import_suppressions` does. If no column is named, read the one that looks like
    phones. UsageError if none does.
    """
    async with upload.errors_named(), pool.acquire() as connection:
        column = phone_column if phone_column else await asyncio.to_thread(_guess, upload)
        return await import_suppressions(
            connection,
            upload.path,
            reason=reason,
            phone_column=column,
            region=region,
            rejects_path=upload.rejects,
            progress=progress,
            actor=actor,
        )


def _guess(upload: Upload) -> str:
    columns = glimpse(upload.path, ALL_ROWS).columns
    found = guess_phone_column(columns)
    if found is None:
        raise UsageError(
            f"no column looks like phone numbers: {', '.join(columns)}",
            where=upload.name,
            remedy="name it with phone_column",
        )
    return found
