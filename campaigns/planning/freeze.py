"""Turns staged rows into ranges, range counters and recipients. One session holds the staged rows; others
write the recipients by COPY.

Law: a chunk is one transaction. Its ranges and range counters are counted from the recipients that it wrote.
It locks the campaign's row, so that nobody removes the campaign as the leftover of a killed create while a
chunk is written, and no chunk of a removed campaign is written.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from campaigns.planning.plan import STATEMENT_TIMEOUT_S, PlanProgress, ProgressCallback
from campaigns.planning.range_cut import COLUMNS, RangeCut
from campaigns.planning.range_size import RangePlan
from campaigns.planning.staging import Chunk, Staged
from engine.store.copying import copy_text
from engine.store.database import Connection, close, connect
from engine.store.queries import queries

WRITERS = 2  # one works while the other waits for its commit
_RANDOM_BITS = 47


@dataclass(frozen=True, slots=True)
class _Job:
    """A chunk, the ids and sizes of its ranges, and the ordinal of the first range."""

    chunk: Chunk
    range_ids: list[int]
    sizes: list[int]
    ordinal: int


class FrozenCounts(NamedTuple):
    """What was written: all recipients, and the suppressed ones among them."""

    recipients: int
    suppressed: int


@dataclass(slots=True)
class _Freezing:
    reader: Connection
    url: str
    campaign_id: int
    staged: Staged
    progress: ProgressCallback
    recipients: int = 0
    suppressed: int = 0
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
                self.progress(PlanProgress("freezing", self.recipients, self.staged.rows, self.staged.rows))
        finally:
            await close(writer)

    async def _write_chunk(self, writer: Connection, job: _Job) -> FrozenCounts:
        sql = queries("plan")
        if await writer.fetchval(sql["hold_unplanned"], self.campaign_id) is None:
            raise RuntimeError(f"campaign {self.campaign_id} was removed while it was planned")
        async with aclosing(self._copy_text(job)) as rows:
            await copy_text(writer, "recipients", rows, COLUMNS)
        row = await writer.fetchrow(sql["freeze_ranges"], self.campaign_id, job.range_ids, job.ordinal)
        assert row is not None
        return FrozenCounts(row["recipients"], row["suppressed"])

    async def _copy_text(self, job: _Job) -> AsyncGenerator[bytes, None]:
        left_out, suppressed = await self._lines(job.chunk)
        cut = RangeCut(job.range_ids, job.sizes, left_out, suppressed)
        for batch in job.chunk.batches:
            async with self.reading:
                rows = await self.reader.fetchval(queries("plan")["recipients_of_batch"], batch)
            yield cut.recipients(rows)

    async def _lines(self, chunk: Chunk) -> tuple[list[int], list[int]]:
        """The lines of the chunk that are left out, and the lines of its suppressed rows."""
        sql = queries("plan")
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
    ranges: RangePlan,
    progress: ProgressCallback,
) -> FrozenCounts:
    """Write all rows that `reader`'s session has staged."""
    sql = queries("plan")
    await reader.execute(sql["create_partitions"], day)
    first_id = await reader.fetchval(sql["first_range_id"], day)
    freezing = _Freezing(reader, url, campaign_id, staged, progress)
    jobs = _jobs(staged, ranges, first_id)
    writers = [asyncio.create_task(freezing.write(jobs)) for _ in staged.chunks[:WRITERS]]
    try:
        await asyncio.gather(*writers)
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.wait(writers)
    return FrozenCounts(freezing.recipients, freezing.suppressed)


def _jobs(staged: Staged, ranges: RangePlan, first_id: int) -> Iterator[_Job]:
    ordinal = 0
    for chunk, sizes in zip(staged.chunks, ranges.sizes, strict=True):
        if sizes:
            ids = [first_id + secrets.randbits(_RANDOM_BITS) for _ in sizes]
            yield _Job(chunk, ids, sizes, ordinal)
            ordinal += len(sizes)
