"""The progress of a bench on stderr: a bar on a terminal, otherwise a line for each measurement."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from drumbeat.benchmarks.suite import AnyRun, Measurement, ProgressListener
from drumbeat.campaigns.cli.printing import note

REFRESHES_PER_S = 2  # the display shares the core of the emulator


class Silent:
    """A display that shows nothing."""

    def began(self, turn: int, measurement: Measurement) -> None: ...

    def progressed(self, elapsed_s: float, per_s: float | None) -> None: ...

    def ended(self, run: AnyRun) -> None: ...


class Lines:
    """A display for logs and pipes. It writes a line when a measurement has ended."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self._head = ""

    def began(self, turn: int, measurement: Measurement) -> None:
        self._head = f"{turn + 1} of {self._turns}: {measurement.title}"

    def progressed(self, elapsed_s: float, per_s: float | None) -> None: ...

    def ended(self, run: AnyRun) -> None:
        note(f"{self._head}: {run.per_s:,.0f}/s, {run.cpu_us:.1f} µs of CPU each")


class Bars:
    """A display for a terminal. It shows the progress of the whole, the current measurement, and its rate."""

    def __init__(self, progress: Progress, turns: int) -> None:
        self._progress = progress
        self._task: TaskID = progress.add_task("", total=float(turns), now="")
        self._turn, self._for_s = 0, 1.0

    def began(self, turn: int, measurement: Measurement) -> None:
        self._turn, self._for_s = turn, measurement.takes_s
        self._progress.update(self._task, completed=turn, description=measurement.title, now="preparing")

    def progressed(self, elapsed_s: float, per_s: float | None) -> None:
        part = min(elapsed_s / self._for_s, 0.99)
        now = "measuring" if per_s is None else f"{per_s:,.0f}/s"
        self._progress.update(self._task, completed=self._turn + part, now=now)

    def ended(self, run: AnyRun) -> None:
        self._progress.update(self._task, completed=self._turn + 1, now=f"{run.per_s:,.0f}/s")


@contextmanager
def progress_of(turns: int, *, quiet: bool) -> Iterator[ProgressListener]:
    """Give the display for these options and this terminal."""
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
