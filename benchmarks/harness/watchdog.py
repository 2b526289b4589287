"""A watchdog process that cleans up after a benchmark that was killed.

    python -m drumbeat.benchmarks.harness.watchdog

The benchmark registers and unregisters its processes and directories, as lines of JSON on the watchdog's
stdin. When the benchmark ends, however it ends, stdin closes and the watchdog removes what is still
registered. It never ends another process that was given the same process id later.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import orjson
import psutil

END_S_MAX = 10.0  # as long as the benchmark itself waits for its processes
KINDS = ("process", "home", "directory")

_inputs: list[IO[bytes]] = []  # stdin of the watchdog, while it runs


@contextmanager
def watchdog() -> Iterator[None]:
    """Run a watchdog in the block. Registered resources do not outlive this process, even if it is killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "drumbeat.benchmarks.harness.watchdog"],
        stdin=subprocess.PIPE,
        bufsize=0,  # a line that cannot be written must not stay in a buffer until the end
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": python_path()},
        process_group=0,  # Ctrl-C on the terminal must not reach it
    ) as process:
        assert process.stdin is not None
        _inputs.append(process.stdin)
        try:
            yield
        finally:
            _inputs.clear()
            process.stdin.close()


def register(kind: str, which: int | Path) -> None:
    """Register a process (by id), the home of a Postgres or a directory, to be removed if this
    process dies.
    """
    _write(kind, which, exists=True)


def unregister(kind: str, which: int | Path) -> None:
    """Remove a registration, once the resource is gone."""
    _write(kind, which, exists=False)


def python_path() -> str:
    """Return PYTHONPATH for children: a checkout may be importable only from its own directory."""
    return os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - as the interpreter understands ""


def _write(kind: str, which: int | Path, *, exists: bool) -> None:
    for stdin in _inputs:
        with suppress(OSError):  # a benchmark goes on without its watchdog
            stdin.write(orjson.dumps([kind, str(which), exists]) + b"\n")


def main() -> None:
    """Read until stdin closes, then remove what is still registered."""
    left = _left(sys.stdin.buffer)
    _end(list(left["process"].values()))
    for home in left["home"]:
        _stop_postgres(Path(home))
    for directory in (*left["home"], *left["directory"]):
        shutil.rmtree(directory, ignore_errors=True)


def _left(lines: IO[bytes]) -> dict[str, dict[str, psutil.Process | None]]:
    """Return the resources that were registered and not unregistered, by kind."""
    left: dict[str, dict[str, psutil.Process | None]] = {kind: {} for kind in KINDS}
    for line in lines:
        kind, which, exists = orjson.loads(line)
        with suppress(psutil.NoSuchProcess):
            if exists:
                left[kind][which] = psutil.Process(int(which)) if kind == "process" else None
            else:
                left[kind].pop(which, None)
    return left


def _end(processes: list[psutil.Process | None]) -> None:
    running = [process for process in processes if process is not None and process.is_running()]
    for process in running:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(running, timeout=END_S_MAX)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _stop_postgres(home: Path) -> None:
    from drumbeat.engine.process.embedded_postgres import stop_embedded  # late: needed only after a crash

    # A server that is still starting is not found; it exits within a minute, once its directory is gone.
    with suppress(Exception):
        stop_embedded(home)


if __name__ == "__main__":
    main()
