"""What a measurement cost: CPU time of processes, and the conditions it was taken under.

On a machine that is shared, wall time says as much of the neighbours as of us: CPU time stands beside it.
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int, *, with_ended_children: bool = False) -> float:
    """CPU seconds of a process so far; with those of its children that ended, as a server's sessions do."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    taken = fields[11:15] if with_ended_children else fields[11:13]
    return sum(map(int, taken)) / _TICKS_PER_S


def server_pid(home: Path) -> int:
    """The embedded Postgres of a home."""
    return int((home / "postgres" / "postmaster.pid").read_text().split()[0])


def print_conditions() -> None:
    """Machine, time, load and command, so that a figure can be judged and repeated."""
    cores = len(os.sched_getaffinity(0))
    command = " ".join(("python -m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]))
    print(f"{_processor()}, {cores} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC: {command}")


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
