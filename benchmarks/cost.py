"""What a measurement cost, and the conditions it was taken under, for the benchmarks here."""

from __future__ import annotations

import sys
from pathlib import Path

from campaigns.bench.database import server_pid
from campaigns.bench.machine import conditions, cpu_s

__all__ = ["cpu_s", "print_conditions", "server_pid"]


def print_conditions(processes: int = 1) -> None:
    """Machine, time, load and command, so that a figure can be judged and repeated."""
    command = " ".join(("python -m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]))
    print(conditions(command, processes).line)
