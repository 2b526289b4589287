"""The import of a suppression list from an upload.

Each batch is stored as it is read. If the console ends during an import, another import of the file finishes
it.
"""

from __future__ import annotations

import asyncio

from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.console.people.shapes import SuppressionImport, SuppressionImported
from drumbeat.campaigns.console.web.access import Caller
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.console.web.uploads import Upload, first_rejects
from drumbeat.campaigns.options.sources import ALL_ROWS
from drumbeat.campaigns.progress import ProgressCallback, no_progress
from drumbeat.engine.errors import UsageError


async def import_upload(
    console: Console,
    caller: Caller,
    upload: Upload,
    asked: SuppressionImport,
    progress: ProgressCallback = no_progress,
) -> SuppressionImported:
    """Import a list, as `import_suppressions` does. If no column is named, read the one that holds phones.
    UsageError if none does, or several.
    """
    async with upload.errors_named(), console.pool.acquire() as connection:
        given = asked.phone_column
        column = given if given else await asyncio.to_thread(_guess, upload)
        counts = await import_suppressions(
            connection,
            upload.path,
            reason=asked.reason,
            phone_column=column,
            region=asked.region,
            country_column=asked.country_column,
            rejects_path=upload.rejects,
            progress=progress,
            actor=caller.name,
        )
    return {
        "changed": counts.changed,
        "unchanged": counts.unchanged,
        "rejected": counts.rejected,
        "hidden": counts.hidden,
        "rejects": first_rejects(upload.rejects),
    }


def _guess(upload: Upload) -> str:
    seen = glimpse(upload.path, ALL_ROWS)
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
