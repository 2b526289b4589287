"""The copy of an audience to temporary tables of one session, and the search for duplicates there.

Memory does not grow with the audience. A batch is read and checked while the previous one is copied.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from drumbeat.campaigns.audience.check.reject_file import RejectFile
from drumbeat.campaigns.audience.check.row_check import FIRST_ROWS, FirstRow
from drumbeat.campaigns.audience.check.staged_batch import StagedBatch
from drumbeat.campaigns.audience.check.template_choice import add_bounded
from drumbeat.campaigns.finding import Findings
from drumbeat.campaigns.phones.phone_counts import PhoneCounts
from drumbeat.campaigns.phones.phone_text import phone_text
from drumbeat.campaigns.phones.plain_digits import PlainDigits
from drumbeat.campaigns.planning.counts import PlanCounts
from drumbeat.campaigns.planning.opened.step import Session
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.campaigns.reject import Reject
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.copying import copy_text

# Rows that are frozen in one transaction, which takes a tenth of a second: fifty ranges or more.
CHUNK_ROWS = 50_000


@dataclass(slots=True)
class Chunk:
    """The staged rows that are frozen in one transaction: lines after `above_line`, up to `last_line`.

    `batches` has the numbers of their batches. `duplicates` counts rows that repeat an earlier one, and
    `excluded` rows that `exclude` names. Both are known after `find_duplicates`.
    """

    above_line: int
    last_line: int
    rows: int
    batches: range
    duplicates: int = 0
    excluded: int = 0

    @property
    def recipients(self) -> int:
        return self.rows - self.duplicates - self.excluded


@dataclass(slots=True)
class StagedRows:
    """The contents of the staging tables.

    `unmatched` counts rows by the language that they name and that the campaign does not have. `by_template`
    counts recipients by the index of their template, if there are several; `find_duplicates` sets it. `files`
    are the header files that the rows name. `findings` are those of the rows, `first` the first of them,
    `phones` and `plain` those of their phones. `has_choice` says that the rows have an index of a template.
    """

    has_choice: bool = False
    rows: int = 0
    rejected: int = 0
    chunks: list[Chunk] = field(default_factory=list)
    batch_count: int = 0  # batches with rows; also the number of the next one
    files: set[str] = field(default_factory=set)
    unmatched: Counter[str] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)
    phones: PhoneCounts = field(default_factory=PhoneCounts)
    plain: PlainDigits = field(default_factory=PlainDigits)
    first: list[FirstRow] = field(default_factory=list)
    by_template: Counter[int] = field(default_factory=Counter)
    _open_rows: int = 0
    _last_line: int = 0

    @property
    def duplicates(self) -> int:
        """Return how many duplicates `find_duplicates` has found so far."""
        return sum(chunk.duplicates for chunk in self.chunks)

    @property
    def excluded(self) -> int:
        """Return how many excluded rows `find_duplicates` has found so far."""
        return sum(chunk.excluded for chunk in self.chunks)

    @property
    def recipients(self) -> int:
        return self.rows - self.duplicates - self.excluded

    def counts(self, suppressed: int, without_hours: int = 0) -> PlanCounts:
        return PlanCounts(
            audience_rows=self.rows + self.rejected,
            recipients=self.recipients,
            rejected=self.rejected + self.excluded,
            duplicates=self.duplicates,
            suppressed=suppressed,
            without_hours=without_hours,
        )

    def add(self, batch: StagedBatch) -> None:
        """Count a batch, and end the chunk if it is large enough."""
        self.rejected += len(batch.rejects)
        self.batch_count += bool(batch.rows)
        self.rows += batch.rows
        self._open_rows += batch.rows
        self._last_line = max(self._last_line, batch.last_line)
        self.files |= batch.files
        add_bounded(self.unmatched, batch.unmatched)
        self.findings.update(batch.findings)
        self.phones.update(batch.counts)
        self.plain.update(batch.plain)
        self.first += batch.first[: FIRST_ROWS - len(self.first)]
        if self._open_rows >= CHUNK_ROWS:
            self.end_chunk()

    def end_chunk(self) -> None:
        if self._open_rows:
            before = self.chunks[-1] if self.chunks else Chunk(0, 0, 0, range(0))
            batches = range(before.batches.stop, self.batch_count)
            self.chunks.append(Chunk(before.last_line, self._last_line, self._open_rows, batches))
            self._open_rows = 0


async def stage(
    session: Session,
    batches: Iterator[StagedBatch],
    rejects: RejectFile,
    total_bytes: int,
    *,
    has_choice: bool = False,
) -> StagedRows:
    """Copy all good rows to the session's staging tables and list the rejects.

    `has_choice` says that the keys of the batches hold the index of a template.
    """
    sql, connection, progress = statements("plan"), session.connection, session.progress
    await connection.execute(sql["prepare_session"])
    await connection.execute(sql["create_staging"])
    if has_choice:
        await connection.execute(sql["stage_template_indexes"])
    staged = StagedRows(has_choice=has_choice)
    async with aclosing(_read_ahead(batches)) as ready:
        async for batch in ready:
            rejects.add(batch.rejects)
            if batch.rows:
                await copy_text(connection, "staging", once(batch.keys))
                await connection.execute(sql["stage_recipients"], staged.batch_count, batch.recipients)
            staged.add(batch)
            progress(PlanProgress("reading", batch.read_bytes, total_bytes, staged.rows + staged.rejected))
    staged.end_chunk()
    return staged


async def _read_ahead(batches: Iterator[StagedBatch]) -> AsyncGenerator[StagedBatch, None]:
    """Give the batches. A thread fetches each while the previous one is in use."""
    # A shielded future, not a task: cancelling it would hide that its thread still runs.
    fetch = partial(asyncio.get_running_loop().run_in_executor, None, next, batches, None)
    ahead = fetch()
    try:
        while (batch := await asyncio.shield(ahead)) is not None:
            ahead = fetch()
            yield batch
    finally:
        await asyncio.wait({ahead})  # the thread uses the caller's file, so it must end first


async def once(text: bytes) -> AsyncIterator[bytes]:
    yield text


async def find_duplicates(
    session: Session,
    staged: StagedRows,
    rejects: RejectFile,
    column: str,
    *,
    has_exclusions: bool = False,
) -> None:
    """Find rows that are excluded or repeat an earlier phone, list them, and count them by chunk."""
    sql, connection, progress = statements("plan"), session.connection, session.progress
    if has_exclusions:
        await connection.execute(sql["find_excluded"])
    for statement in ("find_repeated", "find_duplicates", "find_suppressed", "index_lists"):
        await connection.execute(sql[statement])
        progress(PlanProgress("checking", 0, staged.rows, staged.rows))
    checked = 0
    for chunk in staged.chunks:
        rows = await connection.fetch(sql["left_out_in_chunk"], chunk.above_line, chunk.last_line)
        rejects.add(Reject(row["line"], row["code"], column, phone_text(row["phone"])) for row in rows)
        chunk.excluded = sum(row["code"] == "excluded" for row in rows)
        chunk.duplicates = len(rows) - chunk.excluded
        checked += chunk.rows
        progress(PlanProgress("checking", checked, staged.rows, staged.rows))
    if staged.has_choice:
        rows = await connection.fetch(sql["count_by_template"])
        staged.by_template = Counter({row["template_index"]: row["recipients"] for row in rows})
