"""The import of a suppression list from an upload.

Each batch is stored as it is read. If the console ends during an import, another import of the file finishes
it.
"""

from __future__ import annotations

import asyncio

from drumbeat.campaigns.audience.check.glimpse import glimpse, guess_phone_column
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
    """Import a list, as `import_suppressions` does. If no column is named, read the one that looks like
    phones. UsageError if none does.
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
    columns = glimpse(upload.path, ALL_ROWS).columns
    found = guess_phone_column(columns)
    if found is None:
        raise UsageError(
            f"no column looks like phone numbers: {', '.join(columns)}",
            where=upload.name,
            remedy="name it with phone_column",
        )
    return found
