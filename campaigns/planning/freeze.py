"""The step that turns staged rows into ranges, range counters and recipients. One session holds the staged
rows; others write the recipients by COPY.

Law: a chunk is one transaction. Its ranges and range counters are counted from the recipients that it wrote.
It locks the campaign's row, so that nobody removes the campaign as the leftover of a killed create while a
chunk is written, and no chunk of a removed campaign is written.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from drumbeat.campaigns.planning.cutting import Cutting
from drumbeat.campaigns.planning.range_cut import COLUMNS, RangeCut
from drumbeat.campaigns.planning.staging import Chunk, Staged
from drumbeat.campaigns.planning.zoned_cut import ZonedCut
from drumbeat.campaigns.progress import STATEMENT_TIMEOUT_S, PlanProgress, ProgressCallback
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.copying import copy_text
from drumbeat.engine.store.database import Connection, close, connect

WRITERS = 2  # one works while the other waits for its commit
_RANDOM_BITS = 47


@dataclass(frozen=True, slots=True)
class _Job:
    """A chunk, the ids and sizes of its ranges, and the ordinal of the first range. No ids: `new_id` makes
    them, and the ranges of the chunk's part of the canary begin at an ordinal of their own.
    """

    chunk: Chunk
    range_ids: list[int]
    sizes: list[int]
    ordinal: int
    canary: int
    canary_ordinal: int
    new_id: Callable[[], int]


class FrozenCounts(NamedTuple):
    """The counts of what was written. `recipients` counts all, among them the suppressed ones and those
    without sending hours.
    """

    recipients: int
    suppressed: int
    without_hours: int


@dataclass(slots=True)
class _Freezing:
    reader: Connection
    url: str
    campaign_id: int
    staged: Staged
    cutting: Cutting
    progress: ProgressCallback
    recipients: int = 0
    suppressed: int = 0
    without_hours: int = 0
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write(self, jobs: Iterator[_Job]) -> None:
        """Write chunks with a session of its own until none is left.

        Closing the session undoes a chunk that fails. It does not roll back: if a COPY is cancelled after the
        server refused it, the driver would wait a whole time-out for an answer that has already come.
        """
        writer = await connect(self.url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            for job in jobs:
                transaction = writer.transaction()
                await transaction.start()
                written = await self._write_chunk(writer, job)
                await transaction.commit()
                self.recipients += written.recipients
                self.suppressed += written.suppressed
                self.without_hours += written.without_hours
                self.progress(PlanProgress("freezing", self.recipients, self.staged.rows, self.staged.rows))
        finally:
            await close(writer)

    async def _write_chunk(self, writer: Connection, job: _Job) -> FrozenCounts:
        if await writer.fetchval(statements("plan")["hold_unplanned"], self.campaign_id) is None:
            raise RuntimeError(f"campaign {self.campaign_id} was removed while it was planned")
        lines = await self._lines(job.chunk)
        cut = self.cutting.cut(job.range_ids, job.sizes, job.canary, job.new_id, *lines)
        async with aclosing(self._copy_text(job.chunk, cut)) as rows:
            await copy_text(writer, "recipients", rows, COLUMNS)
        if isinstance(cut, RangeCut):
            return await self._freeze_ranges(writer, job.range_ids, job.ordinal, [])
        canary = await self._freeze_ranges(
            writer, list(cut.canary_zones), job.canary_ordinal, list(cut.canary_zones.values())
        )
        rest = await self._freeze_ranges(writer, list(cut.zones), job.ordinal, list(cut.zones.values()))
        return FrozenCounts(*map(sum, zip(canary, rest, strict=True)))

    async def _freeze_ranges(
        self, writer: Connection, range_ids: list[int], ordinal: int, zones: list[str | None]
    ) -> FrozenCounts:
        if not range_ids:
            return FrozenCounts(0, 0, 0)
        row = await writer.fetchrow(
            statements("plan")["freeze_ranges"], self.campaign_id, range_ids, ordinal, zones
        )
        assert row is not None
        return FrozenCounts(**dict(row))

    async def _copy_text(self, chunk: Chunk, cut: RangeCut | ZonedCut) -> AsyncGenerator[bytes, None]:
        for batch in chunk.batches:
            async with self.reading:
                rows = await self.reader.fetchval(statements("plan")["recipients_of_batch"], batch)
            yield cut.recipients(rows)

    async def _lines(self, chunk: Chunk) -> tuple[list[int], list[int]]:
        """Return the lines of the chunk that are left out, and the lines of its suppressed rows."""
        sql = statements("plan")
        bounds = (chunk.above_line, chunk.last_line)
        async with self.reading:
            left_out = await self.reader.fetch(sql["left_out_in_chunk"], *bounds)
            suppressed = await self.reader.fetch(sql["suppressed_in_chunk"], *bounds)
        return [row["line"] for row in left_out], [row["line"] for row in suppressed]


async def freeze(
    reader: Connection,
    url: str,
    campaign_id: int,
    day: date,
    staged: Staged,
    cutting: Cutting,
    progress: ProgressCallback,
) -> FrozenCounts:
    """Write all rows that `reader`'s session has staged."""
    sql = statements("plan")
    await reader.execute(sql["create_partitions"], day)
    first_id = await reader.fetchval(sql["first_range_id"], day)
    freezing = _Freezing(reader, url, campaign_id, staged, cutting, progress)
    jobs = _jobs(staged, cutting, first_id)
    writers = [asyncio.create_task(freezing.write(jobs)) for _ in staged.chunks[:WRITERS]]
    try:
        await asyncio.gather(*writers)
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.wait(writers)
    return FrozenCounts(freezing.recipients, freezing.suppressed, freezing.without_hours)


def _jobs(staged: Staged, cutting: Cutting, first_id: int) -> Iterator[_Job]:
    def new_id() -> int:
        return first_id + secrets.randbits(_RANDOM_BITS)

    is_zoned, canary_ordinal = cutting.hours is not None, 0
    # With zones nobody knows yet how many ranges there are: each recipient could have one.
    ordinal = cutting.canary_below if is_zoned else 0
    for chunk, sizes, canary in zip(staged.chunks, cutting.plan.sizes, cutting.plan.canaries, strict=True):
        if chunk.recipients:
            ids = [] if is_zoned else [new_id() for _ in sizes]
            yield _Job(chunk, ids, sizes, ordinal, canary, canary_ordinal, new_id)
            ordinal += chunk.recipients if is_zoned else len(sizes)
            canary_ordinal += canary
