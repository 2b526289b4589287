"""The child processes of a benchmark: started without the user's settings, and certain to end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

from drumbeat.benchmarks.harness.machine import on_service_core
from drumbeat.benchmarks.harness.watchdog import python_path, register, unregister
from drumbeat.campaigns.child_processes import end_all
from drumbeat.engine.errors import DrumbeatError
from drumbeat.engine.process.settings import PREFIX

START_S_MAX = 60.0
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Process = subprocess.Popen[bytes]


class BenchmarkFailed(DrumbeatError):
    """An error: a part of the benchmark failed, so there is no figure."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A process that serves HTTP at `url`."""

    url: str
    pid: int


@contextmanager
def held_signals() -> Iterator[None]:
    """Delay signals that end this process until after the block, so that nothing is left half started."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handled = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, lambda n, _: received.append(n)) for number in handled}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def started(
    arguments: Sequence[str],
    *,
    stderr: IO[bytes],
    feed: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Process]:
    """Run `python ARGUMENTS` during the block, in a directory without a settings file, on the service's core.

    `feed`: stdin is a pipe. `settings`: by name (`app_secret`). The process has its own group, so that
    Ctrl-C reaches only the benchmark.
    """
    with ExitStack() as stack:
        with held_signals(), on_service_core():
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumbeat-bench-")))
            register("directory", directory)
            stack.callback(unregister, "directory", directory)
            process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=directory,
                env=_environment(settings or {}),
                process_group=0,
            )
            register("process", process.pid)
            stack.callback(unregister, "process", process.pid)
            stack.callback(end, [process])
        yield process


def end(processes: Sequence[Process]) -> None:
    """Ask each process to end; kill those that do not."""
    with held_signals():
        end_all(processes)
        for process in processes:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


@contextmanager
def listening(
    *arguments: str, settings: Mapping[str, str] | None = None, module: str = "drumbeat.campaigns.cli"
) -> Iterator[Listening]:
    """Run a command that serves HTTP during the block. It prints its URL, and then the block starts."""
    with (
        tempfile.TemporaryFile() as errors,
        started(["-m", module, *arguments], stderr=errors, settings=settings) as process,
    ):
        try:
            url = orjson.loads(first_line(process))["url"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise BenchmarkFailed(f"`{' '.join(arguments[:2])}` did not start: {last_line(errors)}") from None
        yield Listening(str(url), process.pid)


def first_line(process: Process) -> bytes:
    """Return the next line that a process prints, empty if none comes in time."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_S_MAX)
    return process.stdout.readline() if ready else b""


def last_line(errors: IO[bytes]) -> str:
    """Return the last line that a process wrote to stderr."""
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it wrote nothing to stderr"


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    own = {f"{PREFIX}{name.upper()}": value for name, value in settings.items()}
    return {**kept, "PYTHONPATH": python_path(), f"{PREFIX}LOG_LEVEL": "warning", **own}
