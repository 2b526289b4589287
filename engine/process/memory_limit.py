"""The memory that this process may use: the least limit of its control groups, or the machine's memory."""

import os
from pathlib import Path

from drumbeat.engine.core.memory_limit import group_files, least_limit_bytes

_MEMBERSHIP = Path("/proc/self/cgroup")
_GROUPS = Path("/sys/fs/cgroup")


def memory_limit_bytes() -> int:
    """Return how much memory this process and those in its control group may use together."""
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    files = group_files(_text(_MEMBERSHIP))
    return least_limit_bytes((_text(_GROUPS / file) for file in files), machine_bytes)


def _text(path: Path) -> str:
    """Return a file of the kernel; nothing if there is none, as for the groups above a container's own."""
    try:
        return path.read_text("ascii")
    except OSError:
        return ""
