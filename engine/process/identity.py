"""The identity of a process, and proof that another process is dead.

Law: a death can be proven only within the same boot and the same pid namespace. A pid alone proves nothing,
since the system may have reused it; the start time shows whether it did. If anything is uncertain, the answer
is "not proven". This works on Linux only. Elsewhere no death is ever proven, and a lease must expire.
"""

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_DEAD_STATES = frozenset("ZX")  # a zombie no longer writes anything


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A run of a process. `started_ticks` is its start since boot, in the kernel's clock ticks."""

    host: str
    boot: str
    pid_namespace: int
    pid: int
    started_ticks: int

    @property
    def name(self) -> str:
        """Return host and pid, as shown to users."""
        return f"{self.host}, process {self.pid}"

    def stored(self) -> dict[str, Any]:
        return asdict(self)


def this_process() -> ProcessIdentity:
    """Return the identity of the calling process. Unknown parts are zero or empty."""
    stat = _stat(os.getpid())
    return ProcessIdentity(
        host=socket.gethostname(),
        boot=_boot(),
        pid_namespace=_pid_namespace(),
        pid=os.getpid(),
        started_ticks=stat[1] if stat else 0,
    )


def is_proven_dead(stored: dict[str, Any] | None) -> bool:
    """Return whether the process with this stored identity has certainly ended."""
    if not isinstance(stored, dict) or not stored.get("boot") or stored["boot"] != _boot():
        return False
    if not stored.get("pid_namespace") or stored["pid_namespace"] != _pid_namespace():
        return False
    if not isinstance(pid := stored.get("pid"), int):
        return False
    found = _stat(pid)
    if found is None:
        return not Path(f"/proc/{pid}").exists()
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
    """Read state letter and start time of a process. The name before them may hold spaces and brackets."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])
