"""Ends what a bench left behind when it was killed: a process of its own that hears of the bench's end.

    python -m campaigns.bench.guardian

Lines of JSON on its input say what began and what ended; the input ends with the bench, however it ends. A
bench that ends in order leaves nothing. A process is ended only if it is still the one that was meant.
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

END_S_MAX = 10.0  # as for a bench that ends in order
KINDS = ("process", "home", "directory")

_told: list[IO[bytes]] = []  # the input of this bench's guardian, while there is one


@contextmanager
def guarded() -> Iterator[None]:
    """In the block, what `began` does not outlive this process, even if it is killed."""
    with subprocess.Popen(
        [sys.executable, "-m", "campaigns.bench.guardian"],
        stdin=subprocess.PIPE,
        bufsize=0,  # what could not be said does not wait to be said at the end
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": python_path()},
        process_group=0,  # a Ctrl-C on the terminal is not for it
    ) as guardian:
        assert guardian.stdin is not None
        _told.append(guardian.stdin)
        try:
            yield
        finally:
            _told.clear()
            guardian.stdin.close()


def began(kind: str, which: int | Path) -> None:
    """A process by its id, a Postgres' home or a directory: to be ended, or removed, if this process dies."""
    _tell(kind, which, is_there=True)


def ended(kind: str, which: int | Path) -> None:
    """As for `began`; it is gone."""
    _tell(kind, which, is_there=False)


def python_path() -> str:
    """Our modules may be importable only from where the bench was started."""
    return os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - as the interpreter understands ""


def _tell(kind: str, which: int | Path, *, is_there: bool) -> None:
    for guardian in _told:
        with suppress(OSError):  # without its guardian a bench still measures
            guardian.write(orjson.dumps([kind, str(which), is_there]) + b"\n")


def main() -> None:
    """Listen to the end; then end and remove what is there."""
    left = _left(sys.stdin.buffer)
    _end(list(left["process"].values()))
    for home in left["home"]:
        _stop_postgres(Path(home))
    for directory in (*left["home"], *left["directory"]):
        shutil.rmtree(directory, ignore_errors=True)


def _left(lines: IO[bytes]) -> dict[str, dict[str, psutil.Process | None]]:
    """By kind, what began and did not end."""
    left: dict[str, dict[str, psutil.Process | None]] = {kind: {} for kind in KINDS}
    for line in lines:
        kind, which, is_there = orjson.loads(line)
        with suppress(psutil.NoSuchProcess):
            if is_there:
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
    from engine.process.embedded_postgres import (
        stop_embedded,  # late: a bench that ends in order has stopped its own
    )

    # One that was only starting is not found; it ends by itself within a minute, once its directory is gone.
    with suppress(Exception):
        stop_embedded(home)


if __name__ == "__main__":
    main()
