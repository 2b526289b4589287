"""Which process this is, and whether another one is certainly dead.

Law: only the same boot and the same pid namespace can prove a death, and a pid alone proves nothing, since it
may have been given to somebody else: the start time tells. Where it cannot be known, the answer is "not
proven". Linux only; elsewhere no death is ever proven, and a lease must run out.
"""

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_DEAD_STATES = frozenset("ZX")  # a zombie writes no more


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One start of a process: `started_ticks` since boot, as the kernel counts."""

    host: str
    boot: str
    pid_namespace: int
    pid: int
    started_ticks: int

    @property
    def name(self) -> str:
        """In words for people: host and pid."""
        return f"{self.host}, process {self.pid}"

    def stored(self) -> dict[str, Any]:
        return asdict(self)


def this_process() -> ProcessIdentity:
    """The identity of the calling process; zeros where the system does not tell."""
    stat = _stat(os.getpid())
    return ProcessIdentity(
        host=socket.gethostname(),
        boot=_boot(),
        pid_namespace=_pid_namespace(),
        pid=os.getpid(),
        started_ticks=stat[1] if stat else 0,
    )


def is_proven_dead(stored: dict[str, Any] | None) -> bool:
    """Whether the process of a stored identity certainly runs no more."""
    if not stored or not stored.get("boot") or stored["boot"] != _boot():
        return False
    if not stored.get("pid_namespace") or stored["pid_namespace"] != _pid_namespace():
        return False
    found = _stat(int(stored["pid"]))
    if found is None:
        return not Path(f"/proc/{int(stored['pid'])}").exists()
    state, started_ticks = found
    return state in _DEAD_STATES or started_ticks != stored.get("started_ticks")


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _pid_namespace() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _stat(pid: int) -> tuple[str, int] | None:
    """State letter and start time of a process; the name in the file may itself hold spaces and brackets."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])
