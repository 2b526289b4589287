"""The imports of suppression lists from uploads.

Each batch is stored as it is read. If the console ends during an import, another import of the file finishes
it.
"""

from __future__ import annotations

import asyncio

from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.console.web.uploads import Upload
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
    country_column: str | None = None,
    actor: str,
    progress: ProgressCallback = no_progress,
) -> SuppressionCounts:
    """Import a list, as `import_suppressions` does. If no column is named, read the one that holds
    phones. UsageError if none does, or several.
    """
    async with upload.errors_named(), pool.acquire() as connection:
        column = phone_column if phone_column else await asyncio.to_thread(_guess, upload)
        return await import_suppressions(
            connection,
            upload.path,
            reason=reason,
            phone_column=column,
            region=region,
            country_column=country_column,
            rejects_path=upload.rejects,
            progress=progress,
            actor=actor,
        )


def _guess(upload: Upload) -> str:
    seen = glimpse(upload.path)
    if seen.phone_column is not None:
        return seen.phone_column
    names = ", ".join(seen.phones or seen.columns)
    raise UsageError(
        f"several columns hold phone numbers: {names}"
        if seen.phones
        else f"no column holds phone numbers: {names}",
        where=upload.name,
        remedy="name the column with phone_column",
        key="phone_column",
    )
