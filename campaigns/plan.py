"""From an audience to frozen recipients: staged, without duplicates, cut into ranges.

Law: audience rows = recipients + rejected + duplicates; a suppressed row is a recipient that is skipped.
A plan is complete when `planned_at` stands; whatever was killed before leaves a campaign that nothing sends
and that the next create of its name removes. Memory does not grow with the audience: a batch is read and
checked in a thread while the one before it is copied.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from math import ceil

from campaigns.audience.rejects import Reject, RejectFile
from campaigns.audience.staged import StagedBatch
from engine.store.database import Connection
from engine.store.queries import queries

# A range is what a number takes at once: at 80/s a thousand are 12 s of work, at 1,000/s one second; a
# smaller one costs rows of bookkeeping, a larger one is late to move to another number.
RANGE_SIZE = 1_000
# Numbers that share a campaign take so many each, the slowest of them too, or some would have nothing to do
# while others send, and the rest wait for the slowest in the end: with ranges of a thousand, two of ten
# numbers would send a campaign of two thousand. Where that is too dear, ranges are larger:
RANGES_EACH = 10
RANGES_PER_S = 30  # of all numbers together; some 3 % of a core, of the process and of Postgres
SMALL_RANGES_MAX = 10_000  # of a campaign: closing it, or its report, goes through all
# Rows frozen in one transaction, a tenth of a second: fifty ranges or more.
CHUNK_ROWS = 50 * RANGE_SIZE
# One statement may sort or count ten million staged rows.
STATEMENT_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """How far a plan is. `stage` reading: `done` of `total` bytes; checking, freezing: of rows."""

    stage: str
    done: int
    total: int
    rows: int


ProgressCallback = Callable[[PlanProgress], None]


def no_progress(progress: PlanProgress) -> None:
    """For callers that show none."""


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """Rows of an audience by what became of them.

    `suppressed` are among the recipients; None where the plan was made by an earlier call.
    """

    audience_rows: int
    recipients: int
    rejected: int
    duplicates: int
    suppressed: int | None


def range_size(recipients: int, limits_per_s: Sequence[float]) -> int:
    """How many recipients a range holds, of a campaign that is sent through numbers of these limits."""
    if len(limits_per_s) == 1:
        return RANGE_SIZE
    together_per_s = sum(limits_per_s)
    of_the_slowest = min(limits_per_s) * recipients / together_per_s / RANGES_EACH
    affordable = max(together_per_s / RANGES_PER_S, recipients / SMALL_RANGES_MAX)
    return min(RANGE_SIZE, ceil(max(of_the_slowest, affordable)))


@dataclass(slots=True)
class Chunk:
    """Staged rows of lines above the first and up to the last, frozen in one transaction.

    `batches`: the numbers of theirs. `duplicates`: how many of them repeat an earlier row; known when all are
    staged.
    """

    above_line: int
    last_line: int
    rows: int
    batches: range
    duplicates: int = 0

    @property
    def recipients(self) -> int:
        return self.rows - self.duplicates


@dataclass(slots=True)
class Staged:
    """What stands in the staging tables."""

    rows: int = 0
    rejected: int = 0
    chunks: list[Chunk] = field(default_factory=list)
    batch_count: int = 0  # of those with rows; the number of the next
    _open_rows: int = 0
    _last_line: int = 0

    @property
    def duplicates(self) -> int:
        """As far as `find_duplicates` has looked."""
        return sum(chunk.duplicates for chunk in self.chunks)

    @property
    def recipients(self) -> int:
        return self.rows - self.duplicates

    def add(self, batch: StagedBatch) -> None:
        """Count a batch, staged if it has rows, and end the chunk where it is large enough."""
        self.rejected += len(batch.rejects)
        self.batch_count += bool(batch.rows)
        self.rows += batch.rows
        self._open_rows += batch.rows
        self._last_line = max(self._last_line, batch.last_line)
        if self._open_rows >= CHUNK_ROWS:
            self.end_chunk()

    def end_chunk(self) -> None:
        if self._open_rows:
            before = self.chunks[-1] if self.chunks else Chunk(0, 0, 0, range(0))
            batches = range(before.batches.stop, self.batch_count)
            self.chunks.append(Chunk(before.last_line, self._last_line, self._open_rows, batches))
            self._open_rows = 0


async def stage(
    connection: Connection,
    batches: Iterator[StagedBatch],
    rejects: RejectFile,
    total_bytes: int,
    progress: ProgressCallback,
) -> Staged:
    """Copy all accepted rows to the session's staging tables and list the rejects."""
    sql = queries("plan")
    await connection.execute(sql["prepare_session"])
    await connection.execute(sql["create_staging"])
    staged = Staged()
    async with aclosing(_read_ahead(batches)) as ready:
        async for batch in ready:
            rejects.add(batch.rejects)
            if batch.rows:
                await connection.copy_to_table("staging", source=_once(batch.keys), format="text")
                await connection.execute(sql["stage_recipients"], staged.batch_count, batch.recipients)
            staged.add(batch)
            progress(PlanProgress("reading", batch.read_bytes, total_bytes, staged.rows + staged.rejected))
    staged.end_chunk()
    return staged


async def _read_ahead(batches: Iterator[StagedBatch]) -> AsyncGenerator[StagedBatch, None]:
    """Batches, each fetched in a thread while the one before is in use."""
    # No task, and shielded: whoever is cancelled, or a loop that ends all tasks, would take it for done.
    fetch = partial(asyncio.get_running_loop().run_in_executor, None, next, batches, None)
    ahead = fetch()
    try:
        while (batch := await asyncio.shield(ahead)) is not None:
            ahead = fetch()
            yield batch
    finally:
        await asyncio.wait({ahead})  # the thread uses the caller's file and batches: never outlive it


async def _once(text: bytes) -> AsyncIterator[bytes]:
    yield text


async def find_duplicates(
    connection: Connection, staged: Staged, rejects: RejectFile, column: str, progress: ProgressCallback
) -> None:
    """Mark what repeats an earlier row, list it, and count it in its chunk."""
    sql = queries("plan")
    for statement in ("find_repeated", "list_extra", "list_silent", "index_lists"):
        await connection.execute(sql[statement])
        progress(PlanProgress("checking", 0, staged.rows, staged.rows))
    checked = 0
    for chunk in staged.chunks:
        rows = await connection.fetch(sql["duplicates_in_chunk"], chunk.above_line, chunk.last_line)
        rejects.add(Reject(row["line"], "duplicate", column, str(row["phone"])) for row in rows)
        chunk.duplicates = len(rows)
        checked += chunk.rows
        progress(PlanProgress("checking", checked, staged.rows, staged.rows))
