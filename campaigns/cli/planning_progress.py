"""The progress of planning on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.progress import PlanProgress, ProgressCallback, no_progress

LINES_PERIOD_S = 5.0
# Shown after a guessed encoding: a wrong guess changes letters in names.
GUESS = "a guess; if letters are wrong, export the file as UTF-8"


@contextmanager
def planning_shown(*, quiet: bool) -> Iterator[ProgressCallback]:
    """Give a callback that shows a bar on a terminal, else a line every few seconds; none if `quiet`."""
    if quiet:
        yield no_progress
    elif sys.stderr.isatty():
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rows]}")
        with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
            yield _Bar(bar)
    else:
        yield _Lines()


class _Bar:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("reading", total=None, rows="")

    def __call__(self, progress: PlanProgress) -> None:
        self._bar.update(
            self._task,
            description=progress.stage,
            completed=progress.done,
            total=max(progress.total, 1),
            rows=pluralise(progress.rows, "row"),
        )


class _Lines:
    def __init__(self) -> None:
        self._written_s = time.monotonic()

    def __call__(self, progress: PlanProgress) -> None:
        if time.monotonic() - self._written_s < LINES_PERIOD_S:
            return
        self._written_s = time.monotonic()
        share = 100 * progress.done / max(progress.total, 1)
        sys.stderr.write(f"{progress.stage}: {share:.0f} %, {pluralise(progress.rows, 'row')}\n")
