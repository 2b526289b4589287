"""Work that takes longer than a browser waits: it goes on while nobody looks, and its page says how far."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from campaigns.planning.plan import PlanProgress, ProgressCallback

AT_ONCE = 2  # a plan of ten million rows uses two cores of the database
ENDED_KEPT_MAX = 1_000

Work = Callable[[ProgressCallback], Awaitable[str]]


@dataclass(slots=True)
class Job:
    """`progress` None: it waits for others, or has just begun."""

    task: asyncio.Task[None] | None = None
    progress: PlanProgress | None = None


class Jobs:
    """One job at a time for each key. A job returns the address of its result; empty: its own page."""

    def __init__(self) -> None:
        self._running: dict[str, Job] = {}
        self._results: OrderedDict[str, str] = OrderedDict()
        self._places = asyncio.Semaphore(AT_ONCE)

    def running(self, key: str) -> Job | None:
        return self._running.get(key)

    def result(self, key: str) -> str:
        """Where the last job of this key led to; empty if nowhere."""
        return self._results.get(key, "")

    async def run(self, key: str, work: Work, wait_s: float) -> None:
        """Begin the work unless this key is worked on, and wait for its end, but not for long."""
        job = self._running.get(key)
        if job is None:
            job = self._running[key] = Job()
            job.task = asyncio.create_task(self._work(key, work, job))
        assert job.task is not None
        await asyncio.wait({job.task}, timeout=wait_s)

    async def close(self) -> None:
        tasks = {job.task for job in self._running.values() if job.task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _work(self, key: str, work: Work, job: Job) -> None:
        def show(progress: PlanProgress) -> None:
            job.progress = progress

        try:
            async with self._places:
                if address := await work(show):
                    self._results[key] = address
                    if len(self._results) > ENDED_KEPT_MAX:
                        self._results.popitem(last=False)
        finally:
            del self._running[key]
