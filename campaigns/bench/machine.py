"""The machine of a measurement: who runs on which core, what a process took of it, and the conditions.

The sender runs on the first core, the emulator and Postgres share the last one: with two cores or more they
do not take each other's time. On a machine that is shared, wall time says as much of the neighbours as of us:
CPU time stands beside every rate.
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


CORES = _cores()  # as this process began; it may move later
# At a family's CPU, until none of it ended meanwhile: a look takes milliseconds, and sessions end seldom.
LOOKS_MAX = 10


def sender_cores(processes: int = 1) -> list[int]:
    """One for each sending process, as far as they go; the last core is left to the service."""
    return CORES[: max(1, min(processes, len(CORES) - 1))]


def move_to(cores: Sequence[int]) -> None:
    """Keep this process, and what it starts from now on, to these cores, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def own_core() -> None:
    """Where a sender runs."""
    move_to(sender_cores())


def service_core() -> None:
    """Where the emulator and Postgres run, and whoever looks on."""
    move_to(CORES[-1:])


@contextmanager
def on_service_core() -> Iterator[None]:
    """What is started in the block runs on the service's core; the caller comes back to its own."""
    former = _cores()
    service_core()
    try:
        yield
    finally:
        move_to(former)


@contextmanager
def on_every_core(server_pid: int) -> Iterator[None]:
    """Sessions that a Postgres begins in the block run on any core; those after it where they did before.

    Without the right to move it, it stays where it is.
    """
    former: set[int] | None = None
    with suppress(OSError, AttributeError):  # another user's; no such call
        former = os.sched_getaffinity(server_pid)
        os.sched_setaffinity(server_pid, CORES)
    try:
        yield
    finally:
        if former is not None:
            with suppress(OSError):
                os.sched_setaffinity(server_pid, former)


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far."""
    times = psutil.Process(pid).cpu_times()
    own_s: float = times.user + times.system
    return own_s


def family_cpu_s(pid: int) -> float:
    """CPU seconds of a process and of all its children, ended ones too: a Postgres with its sessions."""
    family = psutil.Process(pid)
    taken_s = 0.0
    for _ in range(LOOKS_MAX):
        ended_s = _ended_children_s(family)
        taken_s = cpu_s(pid) + ended_s + _living_children_s(family)
        # A child that ended between the two was seen by neither: all it ever took would count as taken next.
        if _ended_children_s(family) == ended_s:
            break
    return taken_s


def _ended_children_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    ended_s: float = times.children_user + times.children_system
    return ended_s


def _living_children_s(family: psutil.Process) -> float:
    living_s = 0.0
    for child in family.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            living_s += cpu_s(child.pid)
    return living_s


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a figure must be judged by. `load`: of the machine in the last minute, as the bench began."""

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
    """The conditions now."""
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
