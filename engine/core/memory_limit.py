"""The memory that a process may use, by the files of its control group and of the machine."""

from collections.abc import Iterable

# Of the process that starts a reader of workbooks, and of those that check rows beside it: a console takes
# 81 MiB, a check of rows 90.
KEPT_BYTES = 192 << 20
# What a reader of a workbook gets at most. A million rows of four columns take 512 MiB.
READER_BYTES_MAX = 1 << 30
# With less, not even a small workbook is read.
READER_BYTES_MIN = 64 << 20
_UNLIMITED_BYTES = 1 << 60  # version 1 writes a number of this size for "no limit"


def group_files(membership: str) -> list[str]:
    """Return the files below `/sys/fs/cgroup` that may hold a limit, of the group and of all groups above it.

    `membership` is `/proc/self/cgroup`: a line for each hierarchy, such as `0::/system.slice/a.service`.
    Source: the page cgroups(7) of the Linux manual.
    """
    found = []
    for line in membership.splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if hierarchy == "0":
            found += _up(group, "memory.max")
        elif "memory" in controllers.split(","):
            found += [f"memory/{file}" for file in _up(group, "memory.limit_in_bytes")]
    return found


def _up(group: str, file: str) -> list[str]:
    """Return the file of a group such as `/a/b`, and of each group above it."""
    parts = [part for part in group.split("/") if part]
    return ["/".join([*parts[:depth], file]) for depth in range(len(parts), -1, -1)]


def least_limit_bytes(texts: Iterable[str], machine_bytes: int) -> int:
    """Return the least limit that the files' texts name, or the machine's memory if that is less."""
    numbers = (int(text) for text in map(str.strip, texts) if text.isdecimal())
    return min([machine_bytes, *(number for number in numbers if number < _UNLIMITED_BYTES)])


def reader_bytes(limit_bytes: int) -> int:
    """Return the memory of a reader of workbooks beside the process that starts it."""
    return max(READER_BYTES_MIN, min(READER_BYTES_MAX, limit_bytes - KEPT_BYTES))
