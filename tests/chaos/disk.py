"""A small disk of its own for Postgres, so that it can be full. It needs the right to mount; otherwise there is none."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

# Memory, all of it allocated: a fresh server has 45 MiB of files, and each run adds some 10 MiB.
SIZE_BYTES = 320 * 1024 * 1024
FREE_BYTES = 64 * 1024 * 1024
BALLAST = "ballast"
_DETACH = 2  # MNT_DETACH: gone from the tree at once, from the kernel when its last file is closed


class Disk:
    """Holds one directory; `fill` takes all that is left of it. `narrow` first: allocating much takes a while."""

    def __init__(self, directory: Path) -> None:
        self._ballast = directory / BALLAST
        self._narrow_bytes = 0

    def narrow(self) -> None:
        """Leave FREE_BYTES free, which is plenty for one run."""
        self._narrow_bytes = self._grow(leaving=FREE_BYTES)

    def fill(self) -> None:
        """Leave not one byte free."""
        self._grow(leaving=0)

    def free(self) -> None:
        """As `narrow` left it."""
        if self._ballast.exists():
            os.truncate(self._ballast, self._narrow_bytes)

    def _grow(self, leaving: int) -> int:
        with self._ballast.open("ab") as file:
            size = file.tell()
            while (wanted := _free_bytes(self._ballast.parent) - leaving) > 0:
                with suppress(OSError):  # the server used it meanwhile: try again
                    os.posix_fallocate(file.fileno(), size, wanted)
                    size += wanted
        return size


def _free_bytes(directory: Path) -> int:
    state = os.statvfs(directory)
    return state.f_bavail * state.f_frsize


@cache
def why_no_disk() -> str:
    """Why there can be no small disk here; empty if there can."""
    try:
        with TemporaryDirectory() as directory, mounted(Path(directory)):
            return ""
    except (OSError, subprocess.SubprocessError):
        return "no right to mount a small file system"


@contextmanager
def mounted(directory: Path) -> Iterator[Disk]:
    """A file system of SIZE_BYTES in memory at a directory; removed at the end of the block. OSError if not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES},mode=0755", "drumbeat-chaos", str(directory)]
    subprocess.run(command, check=True, capture_output=True)
    try:
        yield Disk(directory)
    finally:
        ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(directory), _DETACH)
