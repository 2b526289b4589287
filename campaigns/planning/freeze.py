"""Staged rows become ranges, range counters and recipients: one session holds them, others write them, by
COPY.

Law: a chunk is one transaction, and its ranges and range counters are counted from the recipients that stand
in it. It holds the campaign's row: while it is written, nobody can remove the campaign as the leftover of a
create that was killed; and a chunk of a campaign that was removed is not written.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date

from campaigns.planning.progress import STATEMENT_TIMEOUT_S, PlanProgress, ProgressCallback
from campaigns.planning.range_cut import COLUMNS, RangeCut
from campaigns.planning.staging import Chunk, Staged
from engine.store.copying import copy_text
from engine.store.database import Connection, close, connect
from engine.store.queries import queries

WRITERS = 2  # keep a core busy through each other's commits
_RANDOM_BITS = 47


@dataclass(frozen=True, slots=True)
class _Job:
    """One chunk, an id for each of its ranges, and the ordinal of the first of them."""

    chunk: Chunk
    range_ids: list[int]
    ordinal: int


@dataclass(slots=True)
class _Freezing:
    reader: Connection
    url: str
    campaign_id: int
    staged: Staged
    range_size: int
    progress: ProgressCallback
    recipients: int = 0
    suppressed: int = 0
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write(self, jobs: Iterator[_Job]) -> None:
        """Write chunks with a session of its own until there are none left.

        Its end undoes a chunk that fails. No rollback: after a COPY that was cancelled when the server had
        already refused it, the driver waits a whole time-out for an answer that has come.
        """
        writer = await connect(self.url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            for job in jobs:
                transaction = writer.transaction()
                await transaction.start()
                recipients, suppressed = await self._write_chunk(writer, job)
                await transaction.commit()
                self.recipients += recipients
                self.suppressed += suppressed
                self.progress(PlanProgress("freezing", self.recipients, self.staged.rows, self.staged.rows))
        finally:
            await close(writer)

    async def _write_chunk(self, writer: Connection, job: _Job) -> tuple[int, int]:
        sql = queries("plan")
        if await writer.fetchval(sql["hold_unplanned"], self.campaign_id) is None:
            raise RuntimeError(f"campaign {self.campaign_id} was removed while it was planned")
        async with aclosing(self._copy_text(job)) as rows:
            await copy_text(writer, "recipients", rows, COLUMNS)
        row = await writer.fetchrow(sql["freeze_ranges"], self.campaign_id, job.range_ids, job.ordinal)
        assert row is not None
        return row["recipients"], row["suppressed"]

    async def _copy_text(self, job: _Job) -> AsyncGenerator[bytes, None]:
        duplicates, suppressed = await self._lines(job.chunk)
        cut = RangeCut(job.range_ids, self.range_size, duplicates, suppressed)
        for batch in job.chunk.batches:
            async with self.reading:
                rows = await self.reader.fetchval(queries("plan")["recipients_of_batch"], batch)
            yield cut.recipients(rows)

    async def _lines(self, chunk: Chunk) -> tuple[list[int], list[int]]:
        """Of the chunk's duplicates, and of its suppressed rows."""
        sql = queries("plan")
        bounds = (chunk.above_line, chunk.last_line)
        async with self.reading:
            duplicates = await self.reader.fetch(sql["duplicates_in_chunk"], *bounds)
            suppressed = await self.reader.fetch(sql["suppressed_in_chunk"], *bounds)
        return [row["line"] for row in duplicates], [row["line"] for row in suppressed]


async def freeze(
    reader: Connection,
    url: str,
    campaign_id: int,
    day: date,
    staged: Staged,
    range_size: int,
    progress: ProgressCallback,
) -> tuple[int, int]:
    """Write all that `reader`'s session has staged; how many recipients, and how many suppressed."""
    sql = queries("plan")
    await reader.execute(sql["create_partitions"], day)
    first_id = await reader.fetchval(sql["first_range_id"], day)
    freezing = _Freezing(reader, url, campaign_id, staged, range_size, progress)
    jobs = _jobs(staged, range_size, first_id)
    writers = [asyncio.create_task(freezing.write(jobs)) for _ in staged.chunks[:WRITERS]]
    try:
        await asyncio.gather(*writers)
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.wait(writers)
    return freezing.recipients, freezing.suppressed


def _jobs(staged: Staged, range_size: int, first_id: int) -> Iterator[_Job]:
    ordinal = 0
    for chunk in staged.chunks:
        ranges = -(-chunk.recipients // range_size)
        if ranges:
            ids = [first_id + secrets.randbits(_RANDOM_BITS) for _ in range(ranges)]
            yield _Job(chunk, ids, ordinal)
            ordinal += ranges
