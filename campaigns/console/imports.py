"""Imports of suppression lists. One goes on beside the request that began it, for a file of millions of rows.

Each batch is stored as it is read, so an import that ended with its console is finished by another one.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass

import structlog

from campaigns.audience.glimpse import glimpse, guess_phone_column
from campaigns.console.problems import Problem, problem_of
from campaigns.console.uploads import Upload
from campaigns.planning.plan import PlanProgress, ProgressCallback, no_progress
from campaigns.suppression import SuppressionCounts, import_suppressions
from engine.errors import UsageError
from engine.store.database import Pool

KEPT_MAX = 100  # imports whose result is kept in memory; the oldest goes

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Import:
    """`counts` or `problem`: how it ended; before, both are None."""

    rows: int = 0
    percent: int = 0
    counts: SuppressionCounts | None = None
    problem: Problem | None = None
    task: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        return self.counts is not None or self.problem is not None

    def progress(self, done: PlanProgress) -> None:
        self.rows, self.percent = done.rows, 100 * done.done // max(1, done.total)


class Imports:
    """The imports of one console, by the reference of their upload."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Import] = OrderedDict()

    def find(self, upload: Upload) -> Import | None:
        return self._known.get(upload.reference)

    def begin(
        self, pool: Pool, upload: Upload, *, reason: str, phone_column: str, region: str | None, actor: str
    ) -> None:
        """Begin the import of an upload, unless it runs or is done."""
        known = self._known.get(upload.reference)
        if known is not None and known.problem is None:
            return
        begun = self._known[upload.reference] = Import()
        if len(self._known) > KEPT_MAX:
            self._known.popitem(last=False)

        async def run() -> None:
            try:
                begun.counts = await import_upload(
                    pool, upload, reason=reason, phone_column=phone_column, region=region, actor=actor,
                    progress=begun.progress,
                )  # fmt: skip
            except Exception as error:
                begun.problem = problem_of(error)
                if begun.problem.code == "unexpected":
                    log.exception("import_failed")

        begun.task = asyncio.create_task(run())

    async def close(self) -> None:
        """End those that run."""
        tasks = {each.task for each in self._known.values() if each.task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def import_upload(
    pool: Pool,
    upload: Upload,
    *,
    reason: str,
    phone_column: str | None,
    region: str | None,
    actor: str,
    progress: ProgressCallback = no_progress,
) -> SuppressionCounts:
    """As `import_suppressions`. Without a column, the one that looks like phones; UsageError if none does."""
    async with upload.errors_named(), pool.acquire() as connection:
        column = phone_column if phone_column else await asyncio.to_thread(_guess, upload)
        return await import_suppressions(
            connection,
            upload.path,
            reason=reason,
            phone_column=column,
            region=region,
            rejects_path=upload.rejects,
            progress=progress,
            actor=actor,
        )


def _guess(upload: Upload) -> str:
    columns = glimpse(upload.path).columns
    found = guess_phone_column(columns)
    if found is None:
        raise UsageError(
            f"no column looks like phone numbers: {', '.join(columns)}",
            where=upload.name,
            remedy="name it with phone_column",
        )
    return found
