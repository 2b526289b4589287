"""Staged rows become ranges, tallies and recipients: one session reads them, others write them, by COPY.

Law: a chunk is one transaction, and its ranges and tallies are counted from the recipients that stand in it.
It holds the campaign's row: who removes the leftovers of a create that was killed cannot pass a chunk that is
still being written, and a chunk of a campaign that was removed is not written.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import date

import asyncpg

from campaigns.plan import STATEMENT_TIMEOUT_S, PlanProgress, ProgressCallback, Staged
from engine.store.database import Connection, connect
from engine.store.queries import queries

# Two keep a core busy through each other's commits; the one reader takes half as long as one writer.
WRITERS = 2
FEED_PIECES_MAX = 16  # of at most half a mebibyte each: most chunks fit, and the reader goes on to the next
_COLUMNS = ("range_id", "seq", "phone", "variables", "line", "skip_reason")
_RANDOM_BITS = 47


@dataclass(frozen=True, slots=True)
class _Job:
    """One chunk: its staged lines, an id for each of its ranges, and the ordinal of the first of them."""

    above_line: int
    last_line: int
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
        """Write chunks with a session of its own until there are none left."""
        writer = await connect(self.url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            for job in jobs:
                async with writer.transaction():
                    recipients, suppressed = await self._write_chunk(writer, job)
                self.recipients += recipients
                self.suppressed += suppressed
                self.progress(PlanProgress("freezing", self.recipients, self.staged.rows, self.staged.rows))
        finally:
            await close(writer)

    async def _write_chunk(self, writer: Connection, job: _Job) -> tuple[int, int]:
        sql = queries("plan")
        if await writer.fetchval(sql["hold_unplanned"], self.campaign_id) is None:
            raise RuntimeError(f"campaign {self.campaign_id} was removed while it was planned")
        async with aclosing(self._read_chunk(job)) as rows:
            await writer.copy_to_table("recipients", source=rows, columns=_COLUMNS, format="binary")
        row = await writer.fetchrow(sql["freeze_ranges"], self.campaign_id, job.range_ids, job.ordinal)
        assert row is not None
        return row["recipients"], row["suppressed"]

    async def _read_chunk(self, job: _Job) -> AsyncGenerator[bytes, None]:
        """The chunk's recipients in COPY's binary format, read ahead of their use."""
        feed: asyncio.Queue[bytes] = asyncio.Queue(FEED_PIECES_MAX)
        reading = asyncio.create_task(self._read(job, feed))
        try:
            while piece := await feed.get():
                yield piece
            await reading
        finally:
            reading.cancel()
            await asyncio.wait({reading})

    async def _read(self, job: _Job, feed: asyncio.Queue[bytes]) -> None:
        """Ends the feed with an empty piece, after an error too: who takes from it then meets the error."""
        arguments = (job.above_line, job.last_line, job.range_ids, self.range_size)
        try:
            async with self.reading:
                await self.reader.copy_from_query(
                    queries("plan")["recipients_of_chunk"], *arguments, output=feed.put, format="binary"
                )
        except Exception:
            await feed.put(b"")
            raise
        await feed.put(b"")


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
        ranges = -(-(chunk.rows - chunk.duplicates) // range_size)
        if ranges:
            ids = [first_id + secrets.randbits(_RANDOM_BITS) for _ in range(ranges)]
            yield _Job(chunk.above_line, chunk.last_line, ids, ordinal)
            ordinal += ranges


async def close(connection: Connection) -> None:
    """Politely, but not for ever: the session's locks and temporary tables go either way."""
    assert isinstance(connection, asyncpg.Connection)
    try:
        await connection.close(timeout=5)
    except (TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        connection.terminate()
