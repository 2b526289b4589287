"""The processes of a bench: started with no setting of the user, and certain to end."""

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

from campaigns.bench.guardian import began, ended, python_path
from campaigns.bench.machine import on_service_core
from campaigns.child_processes import end_all
from engine.errors import DrumbeatError
from engine.process.settings import PREFIX

START_S_MAX = 60.0
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Process = subprocess.Popen[bytes]


class BenchFailed(DrumbeatError):
    """A part of the bench did not do what it should; there is no figure."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A process that serves at `url`."""

    url: str
    pid: int


@contextmanager
def held_signals() -> Iterator[None]:
    """A signal that ends us takes effect after the block: nothing in it is left half begun or half ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    heeded = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, lambda n, _: came.append(n)) for number in heeded}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def started(
    words: Sequence[str],
    *,
    stderr: IO[bytes],
    feed: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Process]:
    """`python WORDS` while the block runs, in a directory with no settings file, on the service's core.

    `feed`: it reads what is written to its stdin. `settings`: by their names (`app_secret`). It has a group
    of its own: a Ctrl-C reaches the bench alone.
    """
    with ExitStack() as stack:
        with held_signals(), on_service_core():
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="drumbeat-bench-")))
            began("directory", directory)
            stack.callback(ended, "directory", directory)
            process = subprocess.Popen(  # noqa: S603 - our own modules
                [sys.executable, *words],
                stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=directory,
                env=_environment(settings or {}),
                process_group=0,
            )
            began("process", process.pid)
            stack.callback(ended, "process", process.pid)
            stack.callback(end, [process])
        yield process


def end(processes: Sequence[Process]) -> None:
    """Ask each to end, and see to it."""
    with held_signals():
        end_all(processes)
        for process in processes:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


@contextmanager
def listening(*words: str, settings: Mapping[str, str] | None = None) -> Iterator[Listening]:
    """A command of ours that serves, while the block runs; it is ready when the block begins."""
    with (
        tempfile.TemporaryFile() as errors,
        started(["-m", "campaigns.cli", *words], stderr=errors, settings=settings) as process,
    ):
        try:
            url = orjson.loads(first_line(process))["url"]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise BenchFailed(f"`{' '.join(words[:2])}` did not start: {last_line(errors)}") from None
        yield Listening(str(url), process.pid)


def first_line(process: Process) -> bytes:
    """The next line that a process prints; empty when none comes in time."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], START_S_MAX)
    return process.stdout.readline() if ready else b""


def last_line(errors: IO[bytes]) -> str:
    """What a process said last on stderr."""
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    own = {f"{PREFIX}{name.upper()}": value for name, value in settings.items()}
    return {**kept, "PYTHONPATH": python_path(), f"{PREFIX}LOG_LEVEL": "warning", **own}
