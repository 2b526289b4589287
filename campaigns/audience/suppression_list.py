"""A list of phones that are to be suppressed, read from a file in the form of an audience."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from drumbeat.campaigns.audience.check.columns import MissingColumn
from drumbeat.campaigns.audience.check.glimpse import with_phones_proposed, with_remedy
from drumbeat.campaigns.audience.check.reject_file import RejectFile, default_rejects_path
from drumbeat.campaigns.audience.check.row_check import require_known_countries, row_check
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.opening import OpenAudience, open_table
from drumbeat.campaigns.finding import ROWS_HIDDEN
from drumbeat.campaigns.options.sources import ALL_ROWS
from drumbeat.campaigns.phones.old_numbers import EVERY_CHANGE
from drumbeat.campaigns.phones.plain_digits import PlainDigits
from drumbeat.campaigns.phones.suppression import (
    SuppressionCounts,
    checked_reason,
    note_suppressions,
    store_suppressions,
)
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.progress import PlanProgress, ProgressCallback, no_progress
from drumbeat.campaigns.reject import REASONS
from drumbeat.engine.errors import ConfigurationError, DrumbeatError
from drumbeat.engine.store.database import Connection


async def import_suppressions(
    connection: Connection,
    path: Path,
    *,
    reason: str,
    phone_column: str = "phone",
    region: str | None = None,
    country_column: str | None = None,
    rejects_path: Path | None = None,
    progress: ProgressCallback = no_progress,
    actor: str = "",
) -> SuppressionCounts:
    """Add the phones of a file in the form of an audience. List rows without a readable phone in a file.
    Raise ConfigurationError if no row has one: another column was meant, or the file is not the list. Raise
    it too if the phones need a country.

    Each batch is stored as it is read. To finish a killed import, run it again. Rows are read in a thread, so
    that a console goes on. Rows that a workbook hides are read too: one person too many is safe.
    """
    reason = checked_reason(reason)
    changed = known = 0
    listed = rejects_path or default_rejects_path(path, "suppress")
    with open_table(path, ALL_ROWS) as source, RejectFile(listed, path) as rejects:
        reader = await asyncio.to_thread(source.table)
        rules = RowRules(phone_column, region=region, repair_old=EVERY_CHANGE, country_column=country_column)
        try:
            check = row_check(reader.header, reader.name, rules)
        except MissingColumn as error:
            raise await asyncio.to_thread(with_remedy, error, source) from error
        batches = check.batches(reader)
        plain = PlainDigits()
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            plain.update(batch.plain)
            require_known_countries(reader.header, rules, plain, reader.name)
            rejects.add(batch.rejects)
            added = await store_suppressions(connection, batch.phones, reason, "import")
            await note_suppressions(connection, "suppress", "import", added, actor)
            changed, known = changed + added.changed, known + added.unchanged
            rows = changed + known + rejects.counts.total()
            progress(PlanProgress("reading", batch.read_bytes, reader.total_bytes, rows))
        source.require_unchanged()
        hidden = sum(finding.count for finding in reader.findings.of(ROWS_HIDDEN))
        counts = SuppressionCounts(changed, known, rejects.counts.total(), rejects.publish(), hidden)
        if not (changed or known):
            raise await asyncio.to_thread(_nobody, counts, rejects.counts, source)
    return counts


def _nobody(counts: SuppressionCounts, codes: Counter[str], source: OpenAudience) -> DrumbeatError:
    rows = f"none of {pluralise(counts.rejected, 'row')} can be read" if counts.rejected else "it has no rows"
    usual = f"; most often, {REASONS[codes.most_common(1)[0][0]]}" if counts.rejected else ""
    error = ConfigurationError(
        f"the list names nobody: {rows}{usual}",
        where=source.name,
        remedy="check the file, and name the column of its phones with {phone_column}",
        values={},
    )
    return with_phones_proposed(error, source)
