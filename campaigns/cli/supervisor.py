"""A supervisor of several child processes. It restarts one that ends by itself, while the others continue.

Law: if a child ends with an error that a restart cannot fix, all end, with its exit code. No child outlives
the supervisor, so each child watches its parent.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from drumbeat.campaigns.child_processes import end_all
from drumbeat.engine.process.event_log import get_logger

CHECK_PERIOD_S = 0.2
RESTART_S_MIN, RESTART_S_MAX = 0.5, 30.0  # wait before a restart; doubles while the process keeps ending
STEADY_S = 60.0  # after a process ran this long, the waits start at the minimum again
LASTING_CODES = frozenset({2, 77, 78})  # usage, token, configuration: a restart would end the same way
PARENT_PERIOD_S = 0.5

log = get_logger(__name__)


def wait_s(failures: int) -> float:
    """Return the seconds to wait before a restart. `failures` counts ends in a row, from 1."""
    return min(RESTART_S_MAX, RESTART_S_MIN * 2.0 ** min(failures - 1, 10))


@dataclass(slots=True)
class _Child:
    """A command and its process. `restart_s` is when the next process starts, on the monotonic clock."""

    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    failures: int = 0
    restart_s: float = 0.0

    def start(self) -> None:
        self.started_s = time.monotonic()
        # Its own process group: a Ctrl-C reaches only the supervisor, which sends each child one signal to
        # drain.
        self.process = subprocess.Popen(self.command, process_group=0)  # noqa: S603 - ours

    def check(self) -> int | None:
        """Restart the process if that is due; return its exit code if a restart would not help."""
        now_s = time.monotonic()
        if self.process is None:
            if now_s >= self.restart_s:
                self.start()
            return None
        code = self.process.poll()
        if code is None or code in LASTING_CODES:
            return code
        self.failures = 1 if now_s - self.started_s >= STEADY_S else self.failures + 1
        self.restart_s = now_s + wait_s(self.failures)
        log.warning(
            "process_ended", process=self.process.pid, exit_code=code, restart_s=wait_s(self.failures)
        )
        self.process = None
        return None


def supervise(commands: Sequence[Sequence[str]]) -> int:
    """Run all commands until a signal comes or one of them ends for good; return its exit code."""
    children = [_Child(command) for command in commands]
    try:
        while True:
            for child in children:
                if (code := child.check()) is not None:
                    return code
            time.sleep(CHECK_PERIOD_S)
    finally:
        end_all([child.process for child in children if child.process is not None])


async def stop_with_parent(parent: int, stop: asyncio.Event) -> None:
    """Set `stop` when the process `parent` is no longer the parent of this one; run until cancelled."""
    while os.getppid() == parent:  # noqa: ASYNC110 - no event announces it
        await asyncio.sleep(PARENT_PERIOD_S)
    stop.set()
