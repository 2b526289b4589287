"""Keeps several processes of ours running: one that ends by itself is started again, the others go on.

Law: what a restart cannot mend ends all of them, with its exit code; and no child outlives its supervisor,
which is why a child watches who its parent is.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from campaigns.child_processes import end_all

LOOK_PERIOD_S = 0.2
RESTART_S_MIN, RESTART_S_MAX = 0.5, 30.0  # before a restart; doubles while the process keeps ending
STEADY_S = 60.0  # a process that ran this long ended by accident: the waits begin again
LASTING_CODES = frozenset({2, 77, 78})  # usage, token, configuration: the same again would end the same
PARENT_PERIOD_S = 0.5

log = structlog.get_logger(__name__)


def wait_s(failures: int) -> float:
    """Seconds before the restart after so many ends in a row, from 1."""
    return min(RESTART_S_MAX, RESTART_S_MIN * 2.0 ** min(failures - 1, 10))


@dataclass(slots=True)
class _Child:
    """One part of the work, and the process that does it now; `restart_s`: when the next one starts."""

    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    failures: int = 0
    restart_s: float = 0.0

    def start(self) -> None:
        self.started_s = time.monotonic()
        # Groups of their own: a Ctrl-C reaches us alone, and each child gets one signal, which means "drain".
        self.process = subprocess.Popen(self.command, process_group=0)  # noqa: S603 - ours

    def look(self) -> int | None:
        """Start it again where that is due; the exit code where that would be of no use."""
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
    """Run all commands until a signal ends us, or one of them ends for good; returns that one's exit code."""
    children = [_Child(command) for command in commands]
    try:
        while True:
            for child in children:
                if (code := child.look()) is not None:
                    return code
            time.sleep(LOOK_PERIOD_S)
    finally:
        end_all([child.process for child in children if child.process is not None])


async def stop_with_parent(parent: int, stop: asyncio.Event) -> None:
    """Set `stop` when the process with the id `parent` is no longer ours; run by a child, until cancelled."""
    while os.getppid() == parent:  # noqa: ASYNC110 - the kernel tells nobody
        await asyncio.sleep(PARENT_PERIOD_S)
    stop.set()
