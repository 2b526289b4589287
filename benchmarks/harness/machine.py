"""The CPU cores, the CPU time and the conditions of a measurement.

The sender runs on the first core; the emulator and Postgres share the last one. With two cores or more they
do not take each other's time. On a shared machine wall time depends on other programs, so every rate stands
beside the CPU time that it cost.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


CORES = _cores()  # when this process started; it may move to other cores later
# Bounds the readings of a process tree until no child ends during one; sessions of Postgres end seldom.
READINGS_MAX = 10


def sender_cores(processes: int = 1) -> list[int]:
    """Return one core for each sending process while they last. The last core is left to the service."""
    return CORES[: max(1, min(processes, len(CORES) - 1))]


def move_to(cores: Sequence[int]) -> None:
    """Pin this process and its future children to these cores, where the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def move_to_sender_core() -> None:
    """Pin this process to the core of a sender."""
    move_to(sender_cores())


def move_to_service_core() -> None:
    """Pin this process to the core of emulator and Postgres. A process that only watches must not slow the
    sender.
    """
    move_to(CORES[-1:])


@contextmanager
def on_service_core() -> Iterator[None]:
    """Run processes started in the block on the service's core. The caller then returns to its own cores."""
    former = _cores()
    move_to_service_core()
    try:
        yield
    finally:
        move_to(former)


@contextmanager
def on_every_core(server_pid: int) -> Iterator[None]:
    """Let sessions that this Postgres opens in the block run on any core.

    Without permission to move the server, it stays where it is.
    """
    former: set[int] | None = None
    with suppress(OSError, AttributeError):  # the server of another user; a system without this call
        former = os.sched_getaffinity(server_pid)
        os.sched_setaffinity(server_pid, CORES)
    try:
        yield
    finally:
        if former is not None:
            with suppress(OSError):
                os.sched_setaffinity(server_pid, former)


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used so far."""
    times = psutil.Process(pid).cpu_times()
    own_s: float = times.user + times.system
    return own_s


def tree_cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process and all its children, also ended ones: a Postgres with its
    sessions.
    """
    root = psutil.Process(pid)
    taken_s = 0.0
    for _ in range(READINGS_MAX):
        ended_s = _ended_children_s(root)
        taken_s = cpu_s(pid) + ended_s + _living_children_s(root)
        # A child that ends between both readings is in neither; the next measurement would be charged for it.
        if _ended_children_s(root) == ended_s:
            break
    return taken_s


def _ended_children_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    ended_s: float = times.children_user + times.children_system
    return ended_s


def _living_children_s(root: psutil.Process) -> float:
    living_s = 0.0
    for child in root.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            living_s += cpu_s(child.pid)
    return living_s


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions that a figure depends on. `load`: the 1-minute load average of the machine before the
    run.
    """

    processor: str
    cores: int
    placement: str
    load: float
    python: str
    system: str
    date: str  # UTC, ISO 8601
    command: str

    @property
    def line(self) -> str:
        return (
            f"{self.processor}, {self.cores} cores ({self.placement}), {self.python}, load {self.load:.1f}\n"
            f"{self.date}: {self.command}"
        )


def conditions(command: str, processes: int = 1) -> Conditions:
    """Return the conditions at this moment."""
    return Conditions(
        processor=_processor(),
        cores=len(CORES),
        placement=_placement(processes),
        load=round(os.getloadavg()[0], 2),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        system=f"{platform.system()} {platform.release()}",
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command,
    )


def _placement(processes: int) -> str:
    if len(CORES) == 1:
        return "one core for everything"
    senders = len(sender_cores(processes))
    cores = "one core" if senders == 1 else f"{senders} cores"
    return f"{cores} for the sender, one for emulator and Postgres"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
