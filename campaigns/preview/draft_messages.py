"""Messages of a campaign that is not stored yet, with real rows of its audience."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.audience.open.reader import RowBatch, is_blank
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.sources import ReadOptions
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.checked.template_set import load_templates
from drumbeat.campaigns.planning.staged.filling import fill
from drumbeat.campaigns.planning.staged.first_messages import FirstMessage, first_messages
from drumbeat.engine.store.database import Pool

SAMPLE_ROWS_MAX = 100  # as many as a person leafs through


@dataclass(frozen=True, slots=True)
class Sample:
    """The first rows of an audience that have a cell for each column. `lines` are their numbers."""

    columns: Sequence[str]
    lines: Sequence[int]
    rows: Sequence[Sequence[str]]


def read_sample(path: Path, options: ReadOptions) -> Sample:
    """Read the first rows of an audience. Raise the errors of `open_table`."""
    with open_table(path, options) as source:
        table = source.table()
        numbered = (row for batch in table.batches() for row in zip(batch.lines, batch.rows, strict=True))
        rows = list(islice((row for row in numbered if not is_blank(row[1])), SAMPLE_ROWS_MAX))
    return Sample(tuple(table.header), [line for line, _ in rows], [list(cells) for _, cells in rows])


async def draft_messages(pool: Pool, spec: CampaignSpec, sample: Sample) -> list[FirstMessage]:
    """Return the messages of a sample's good rows. Raise as `load_templates`, `fill`, `row_check` do."""
    async with pool.acquire() as connection:
        database = await describe_database(connection)
        templates = await load_templates(connection, spec, database=database)
    filling = fill(spec, templates, sample.columns)
    check = row_check(sample.columns, spec.audience_name, filling.rules)
    checked = check.check(RowBatch(0, sample.lines, [list(cells) for cells in sample.rows]))
    return first_messages(filling.templates, checked.first_rows(SAMPLE_ROWS_MAX))
