"""The processes that read an audience ahead end with the plan, however it ends."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from drumbeat.campaigns.audience.check.reject_file import RejectFile
from drumbeat.campaigns.audience.check.staged_batch import StagedBatch
from drumbeat.campaigns.planning.opened.step import Session
from drumbeat.campaigns.planning.staged.staging import stage
from drumbeat.campaigns.progress import no_progress
from drumbeat.engine.store.database import Connection


async def test_no_thread_reads_on_when_a_plan_is_cancelled(other: Connection, tmp_path: Path) -> None:
    reads, may_end = threading.Event(), threading.Event()

    def slow() -> Iterator[StagedBatch]:
        reads.set()
        may_end.wait()
        yield from ()

    batches, others = slow(), asyncio.all_tasks()
    session = Session(url="", connection=other, progress=no_progress)
    with RejectFile(tmp_path / "rejects.csv", tmp_path / "people.csv") as rejects:
        staging = asyncio.create_task(stage(session, batches, rejects, 0))
        await asyncio.to_thread(reads.wait)
        for task in asyncio.all_tasks() - others:  # as a loop does that ends
            task.cancel()
        done, _ = await asyncio.wait({staging}, timeout=0.2)
        may_end.set()
        with suppress(asyncio.CancelledError):
            await staging
    assert not done
    batches.close()  # type: ignore[attr-defined]  # a ValueError while a thread is in it
