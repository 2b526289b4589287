"""How far a bench is, on stderr: a bar on a terminal, a line a measurement elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from campaigns.bench.suite import Measured, Step, Watcher
from campaigns.cli.printing import note

REFRESHES_PER_S = 2  # it shares the service's core


class Silent:
    """Shows nothing."""

    def begin(self, turn: int, step: Step) -> None: ...

    def look(self, elapsed_s: float, per_s: float | None) -> None: ...

    def done(self, run: Measured) -> None: ...


class Lines:
    """For logs and pipes: a line when a measurement is done."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._head = ""

    def begin(self, turn: int, step: Step) -> None:
        self._head = f"{turn + 1} of {self._turns}: {step.title}"

    def look(self, elapsed_s: float, per_s: float | None) -> None: ...

    def done(self, run: Measured) -> None:
        note(f"{self._head}: {run.per_s:,.0f}/s, {run.cpu_us:.1f} µs of CPU each")


class Bars:
    """For people: how far in all, what is measured now, and how fast it goes."""

    def __init__(self, progress: Progress, turns: int) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task("", total=float(turns), now="")
        self._turn, self._for_s = 0, 1.0

    def begin(self, turn: int, step: Step) -> None:
        self._turn, self._for_s = turn, step.takes_s
        self._progress.update(self._task, completed=turn, description=step.title, now="preparing")

    def look(self, elapsed_s: float, per_s: float | None) -> None:
        part = min(elapsed_s / self._for_s, 0.99)
        now = "measuring" if per_s is None else f"{per_s:,.0f}/s"
        self._progress.update(self._task, completed=self._turn + part, now=now)

    def done(self, run: Measured) -> None:
        self._progress.update(self._task, completed=self._turn + 1, now=f"{run.per_s:,.0f}/s")


@contextmanager
def progress_of(turns: int, *, quiet: bool) -> Iterator[Watcher]:
    """The watcher that the options and the terminal ask for."""
    if quiet:
        yield Silent()
        return
    if not sys.stderr.isatty():
        yield Lines(turns)
        return
    columns = (BarColumn(30), TextColumn("{task.description}"), TextColumn("{task.fields[now]}"))
    shown = Progress(
        *columns, TimeRemainingColumn(), console=Console(stderr=True), refresh_per_second=REFRESHES_PER_S
    )
    with shown as progress:
        yield Bars(progress, turns)
