"""The end of child processes: with SIGTERM first, then with SIGKILL."""

import subprocess
import time
from collections.abc import Sequence

END_S_MAX = 10.0  # a drain takes 5 s


def end_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Terminate all processes, and return when they have ended. Kill those that still run after END_S_MAX."""
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
