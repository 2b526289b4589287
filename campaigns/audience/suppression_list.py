"""A list of phones that are to be suppressed, read from a file in the form of an audience."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from drumbeat.campaigns.audience.check.reject_file import RejectFile, default_rejects_path
from drumbeat.campaigns.audience.check.row_check import RowRules, row_check
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.finding import ROWS_HIDDEN
from drumbeat.campaigns.options.sources import ALL_ROWS
from drumbeat.campaigns.phones.suppression import (
    SuppressionCounts,
    checked_reason,
    note_suppressions,
    store_suppressions,
)
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.progress import PlanProgress, ProgressCallback, no_progress
from drumbeat.campaigns.reject import REASONS
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Connection


async def import_suppressions(
    connection: Connection,
    path: Path,
    *,
    reason: str,
    phone_column: str = "phone",
    region: str | None = None,
    rejects_path: Path | None = None,
    progress: ProgressCallback = no_progress,
    actor: str = "",
) -> SuppressionCounts:
    """Add the phones of a file in the form of an audience. List rows without a readable phone in a file.
    Raise ConfigurationError if no row has one: another column was meant, or the file is not the list.

    Each batch is stored as it is read. To finish a killed import, run it again. Rows are read in a thread, so
    that a console goes on. Rows that a workbook hides are read too: one person too many is safe.
    """
    reason = checked_reason(reason)
    changed = known = 0
    listed = rejects_path or default_rejects_path(path, "suppress")
    with open_table(path, ALL_ROWS) as source, RejectFile(listed, path) as rejects:
        reader = await asyncio.to_thread(source.table)
        check = row_check(reader.header, reader.name, RowRules(phone_column, region=region))
        batches = check.batches(reader)
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            rejects.add(batch.rejects)
            added = await store_suppressions(connection, batch.phones, reason, "import")
            await note_suppressions(connection, "suppress", "import", added, actor)
            changed, known = changed + added.changed, known + added.unchanged
            rows = changed + known + rejects.counts.total()
            progress(PlanProgress("reading", batch.read_bytes, reader.total_bytes, rows))
        source.require_unchanged()
        hidden = sum(finding.count for finding in reader.findings.of(ROWS_HIDDEN))
        counts = SuppressionCounts(changed, known, rejects.counts.total(), rejects.publish(), hidden)
    _require_somebody(counts, rejects.counts, reader.name)
    return counts


def _require_somebody(counts: SuppressionCounts, codes: Counter[str], where: str) -> None:
    if counts.changed or counts.unchanged:
        return
    rows = f"none of {pluralise(counts.rejected, 'row')} can be read" if counts.rejected else "it has no rows"
    usual = f"; most often, {REASONS[codes.most_common(1)[0][0]]}" if counts.rejected else ""
    raise ConfigurationError(
        f"the list names nobody: {rows}{usual}",
        where=where,
        remedy="check the file, and name the column of its phones with {phone_column}",
        values={},
    )
