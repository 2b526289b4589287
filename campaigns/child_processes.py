"""Ends child processes: asked first, and made to where that is not enough."""

import subprocess
import time
from collections.abc import Sequence

END_S_MAX = 10.0  # a drain takes 5 s; then the operating system ends a process


def end_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Return when all have ended, killed where END_S_MAX seconds were not enough for one."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline_s = time.monotonic() + END_S_MAX
    for process in processes:
        try:
            process.wait(max(0.1, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
