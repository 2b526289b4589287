"""The obstacles to a start of an embedded Postgres after its disk was full, and their removal.

Postgres 18 may hang for ever if the disk is full while it recovers from a crash. Its first process then is
alone, and says that it is ready or starting. It also refuses to start beside a `postmaster.pid` that is empty
because nothing could be written into it.
"""

import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

from drumbeat.engine.core.disk_space import MIB
from drumbeat.engine.errors import Unreachable
from drumbeat.engine.process.disk_space import free_bytes

PID_FILE = "postmaster.pid"
# Postgres writes a segment of its log (16 MiB), a checkpoint and files of each session before it is ready.
START_FREE_MIB = 64
# The longest time for which a healthy server may be alone, between the end of its processes and the start of
# the next ones.
ALONE_S_MAX = 3.0


def require_space(data: Path) -> None:
    """Raise Unreachable if a server in `data` could not start because the disk is full."""
    free_mib = free_bytes(data if data.exists() else data.parent) // MIB
    if free_mib < START_FREE_MIB:
        raise Unreachable(
            f"the disk of the embedded Postgres is full: {free_mib} MiB are free, and a start needs"
            f" {START_FREE_MIB}",
            where=str(data),
            remedy="free some space there, then repeat the command; nothing is lost",
        )


def remove_empty_pid_file(data: Path) -> None:
    """Remove an empty pid file. Call it only while no server runs or starts: the caller holds the lock."""
    with suppress(FileNotFoundError):
        if not (data / PID_FILE).stat().st_size:
            (data / PID_FILE).unlink()


def is_alive(process: psutil.Process) -> bool:
    """Return whether a process still runs. In some containers nobody collects processes that have ended."""
    with suppress(psutil.Error):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def is_alone(process: psutil.Process) -> bool:
    """Return whether a server has no other process. False if the kernel does not say. Every command asks."""
    with suppress(OSError):
        return not Path(f"/proc/{process.pid}/task/{process.pid}/children").read_bytes()
    return False


class StuckServer:
    """A watch that ends a server that hangs while it starts."""

    def __init__(self) -> None:
        self._alone_since_s: float | None = None

    def end_if_stuck(self, process: psutil.Process) -> None:
        """End the server if it hangs. Call it repeatedly during a start; `process` is the
        server's first one.
        """
        now_s = time.monotonic()
        if not is_alone(process):
            self._alone_since_s = None
        elif self._alone_since_s is None:
            self._alone_since_s = now_s
        elif now_s - self._alone_since_s > ALONE_S_MAX:
            with suppress(psutil.Error):
                process.send_signal(signal.SIGQUIT)  # ends at once; the next start recovers again
            self._alone_since_s = None
