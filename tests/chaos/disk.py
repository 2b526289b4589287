"""A small disk of its own for Postgres, so that it can be full. It takes a right to mount; else there is none."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

SIZE_BYTES = 512 * 1024 * 1024  # of memory, when full: a fresh server takes 60 MiB, a run's log about 10
BALLAST = "ballast"
_DETACH = 2  # MNT_DETACH: gone from the tree at once, from the kernel when its last file is closed


class Disk:
    """Holds one directory; `fill` takes all that is left of it."""

    def __init__(self, directory: Path) -> None:
        self._ballast = directory / BALLAST

    def fill(self) -> None:
        """Leave not one byte free."""
        with self._ballast.open("wb") as file:
            size = 0
            while free := _free_bytes(self._ballast.parent):
                with suppress(OSError):  # taken meanwhile by the server: look again
                    os.posix_fallocate(file.fileno(), size, free)
                    size += free

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


def _free_bytes(directory: Path) -> int:
    state = os.statvfs(directory)
    return state.f_bavail * state.f_frsize


@cache
def why_no_disk() -> str:
    """Why no small disk can be had here; empty where one can."""
    try:
        with TemporaryDirectory() as directory, mounted(Path(directory)):
            return ""
    except (OSError, subprocess.SubprocessError):
        return "no right to mount a small file system"


@contextmanager
def mounted(directory: Path) -> Iterator[Disk]:
    """A file system of SIZE_BYTES in memory at a directory; gone with the block. OSError where not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES},mode=0755", "drumbeat-chaos", str(directory)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield Disk(directory)
    finally:
        ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(directory), _DETACH)
