"""The jobs: work that takes longer than a browser or a proxy waits. A job goes on while nobody looks.

A job lives in this process. What it stored stays if the console ends meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.progress import PlanProgress, ProgressCallback
from drumbeat.engine.process.event_log import get_logger

AT_ONCE = 2  # a plan of ten million rows uses two cores of the database
ENDED_KEPT_MAX = 100  # a reply may list 200 rejected rows

Work = Callable[[ProgressCallback], Awaitable[Any]]

log = get_logger(__name__)


@dataclass(slots=True)
class Job:
    """One job. `progress` is None while it waits for others or has just begun. It ends with `value`, which
    the work returned, or with `problem`. `form`: the view and values that show its form again.
    """

    form: tuple[str, Mapping[str, Any]] | None = None
    progress: PlanProgress | None = None
    has_ended: bool = False
    value: Any = None
    problem: Problem | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    async def wait(self, wait_s: float) -> bool:
        """Wait for its end, but not longer than `wait_s`. Return whether it has ended."""
        assert self.task is not None
        await asyncio.wait({self.task}, timeout=wait_s)
        return self.has_ended


class Jobs:
    """The jobs: one at a time for each key, and the results of the last ones that ended."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Job] = OrderedDict()
        self._places = asyncio.Semaphore(AT_ONCE)

    def find(self, key: str) -> Job | None:
        """Return the last job of this key, running or ended."""
        return self._known.get(key)

    def running(self, key: str) -> Job | None:
        job = self._known.get(key)
        return None if job is None or job.has_ended else job

    def begin(
        self, key: str, work: Work, *, costly: bool = True, form: tuple[str, Mapping[str, Any]] | None = None
    ) -> Job:
        """Return the job that runs with this key. If none runs, begin the work. `costly`: it waits for a free
        place.
        """
        if (job := self.running(key)) is None:
            job = self._known[key] = Job(form)
            self._known.move_to_end(key)
            job.task = asyncio.create_task(self._work(job, work, costly))
            self._forget()
        return job

    async def close(self) -> None:
        tasks = {job.task for job in self._known.values() if job.task is not None and not job.has_ended}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _forget(self) -> None:
        """Forget the jobs that ended first. A running job stays."""
        ended = [key for key, job in self._known.items() if job.has_ended]
        for key in ended[: max(0, len(ended) - ENDED_KEPT_MAX)]:
            del self._known[key]

    async def _work(self, job: Job, work: Work, costly: bool) -> None:
        def show(progress: PlanProgress) -> None:
            job.progress = progress

        try:
            async with AsyncExitStack() as stack:
                if costly:
                    await stack.enter_async_context(self._places)
                job.value = await work(show)
        except Exception as error:
            job.problem = problem_of(error)
            if job.problem.code == "unexpected":
                log.exception("job_failed")
        finally:
            job.has_ended = True
