"""The writing of staged rows as ranges, range counters and recipients. One session holds the staged rows;
others write the recipients by COPY.

Law: a chunk is one transaction. Its ranges and range counters are counted from the recipients that it wrote.
It locks the campaign's row, so that nobody removes the campaign as the leftover of a killed create while a
chunk is written, and no chunk of a removed campaign is written.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from drumbeat.campaigns.planning.cut.range_cut import COLUMNS, RangeCut
from drumbeat.campaigns.planning.cut.step import Cut
from drumbeat.campaigns.planning.cut.zoned_cut import ZonedCut
from drumbeat.campaigns.planning.opened.step import Session
from drumbeat.campaigns.planning.staged.staging import Chunk, StagedRows
from drumbeat.campaigns.progress import STATEMENT_TIMEOUT_S, PlanProgress
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.copying import copy_text
from drumbeat.engine.store.database import Connection, close, connect

WRITERS = 2  # one works while the other waits for its commit
RANDOM_BITS = 47


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """A chunk, the sizes of its ranges, and the ordinal of the first one. If ranges have zones, those of the
    `canary` begin at an ordinal of their own.
    """

    chunk: Chunk
    sizes: list[int]
    ordinal: int
    canary: int
    canary_ordinal: int


class FrozenCounts(NamedTuple):
    """The counts of what was written. `recipients` counts all, among them the suppressed ones and those
    without sending hours.
    """

    recipients: int = 0
    suppressed: int = 0
    without_hours: int = 0

    def plus(self, other: FrozenCounts) -> FrozenCounts:
        return FrozenCounts(*map(sum, zip(self, other, strict=True)))


@dataclass(slots=True, kw_only=True)
class _Writing:
    session: Session
    campaign_id: int
    rows: StagedRows
    cut: Cut
    first_id: int
    written: FrozenCounts = field(default=FrozenCounts(), init=False)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def write(self, jobs: Iterator[_Job]) -> None:
        """Write chunks with a session of its own until none is left.

        Closing the session undoes a chunk that fails. It does not roll back: if a COPY is cancelled after the
        server refused it, the driver would wait a whole time-out for an answer that has already come.
        """
        writer = await connect(self.session.url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            for job in jobs:
                transaction = writer.transaction()
                await transaction.start()
                written = await self._write_chunk(writer, job)
                await transaction.commit()
                self.written = self.written.plus(written)
                done, total = self.written.recipients, self.rows.rows
                self.session.progress(PlanProgress("freezing", done, total, total))
        finally:
            await close(writer)

    async def _write_chunk(self, writer: Connection, job: _Job) -> FrozenCounts:
        if await writer.fetchval(statements("plan")["hold_unplanned"], self.campaign_id) is None:
            raise RuntimeError(f"campaign {self.campaign_id} was removed while it was planned")
        lines = await self._lines(job.chunk)
        cut = self.cut.of_chunk(self._new_id, job.sizes, job.canary, *lines)
        async with aclosing(self._copy_text(job.chunk, cut)) as rows:
            await copy_text(writer, "recipients", rows, COLUMNS)
        if isinstance(cut, RangeCut):
            return await self._freeze_ranges(writer, job.ordinal, cut.range_ids)
        canary = await self._freeze_ranges(
            writer, job.canary_ordinal, cut.canary_zones, cut.canary_zones.values()
        )
        return canary.plus(await self._freeze_ranges(writer, job.ordinal, cut.zones, cut.zones.values()))

    async def _freeze_ranges(
        self, writer: Connection, ordinal: int, range_ids: Iterable[int], zones: Iterable[str | None] = ()
    ) -> FrozenCounts:
        if not (ids := list(range_ids)):
            return FrozenCounts()
        row = await writer.fetchrow(
            statements("plan")["freeze_ranges"], self.campaign_id, ids, ordinal, list(zones)
        )
        assert row is not None
        return FrozenCounts(**dict(row))

    async def _copy_text(self, chunk: Chunk, cut: RangeCut | ZonedCut) -> AsyncGenerator[bytes, None]:
        for batch in chunk.batches:
            async with self.reading:
                rows = await self.session.connection.fetchval(
                    statements("plan")["recipients_of_batch"], batch
                )
            yield cut.recipients(rows)

    async def _lines(self, chunk: Chunk) -> tuple[list[int], list[int]]:
        """Return the lines of the chunk that are left out, and the lines of its suppressed rows."""
        sql = statements("plan")
        bounds = (chunk.above_line, chunk.last_line)
        async with self.reading:
            left_out = await self.session.connection.fetch(sql["left_out_in_chunk"], *bounds)
            suppressed = await self.session.connection.fetch(sql["suppressed_in_chunk"], *bounds)
        return [row["line"] for row in left_out], [row["line"] for row in suppressed]

    def jobs(self) -> Iterator[_Job]:
        plan, is_zoned, canary_ordinal = self.cut.plan, self.cut.zones is not None, 0
        # With zones nobody knows yet how many ranges there are: each recipient could have one.
        ordinal = self.cut.canary_below if is_zoned else 0
        for chunk, sizes, canary in zip(self.rows.chunks, plan.sizes, plan.canaries, strict=True):
            if chunk.recipients:
                yield _Job(
                    chunk=chunk, sizes=sizes, ordinal=ordinal, canary=canary, canary_ordinal=canary_ordinal
                )
                ordinal += chunk.recipients if is_zoned else len(sizes)
                canary_ordinal += canary

    def _new_id(self) -> int:
        return self.first_id + secrets.randbits(RANDOM_BITS)


async def write_chunks(
    session: Session, campaign_id: int, day: date, rows: StagedRows, cut: Cut
) -> FrozenCounts:
    """Write all rows that the session has staged."""
    if not rows.chunks:
        return FrozenCounts()
    sql = statements("plan")
    await session.connection.execute(sql["create_partitions"], day)
    first_id = await session.connection.fetchval(sql["first_range_id"], day)
    writing = _Writing(session=session, campaign_id=campaign_id, rows=rows, cut=cut, first_id=first_id)
    jobs = writing.jobs()
    writers = [asyncio.create_task(writing.write(jobs)) for _ in rows.chunks[:WRITERS]]
    try:
        await asyncio.gather(*writers)
    finally:
        for writer in writers:
            writer.cancel()
        await asyncio.wait(writers)
    return writing.written
