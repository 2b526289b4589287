"""The product, which lists its tasks when asked: `python -m tests.chaos.watched drumbeat's arguments`.

The operating system lists the files of a process. Only the process itself knows its tasks.
"""

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from types import FrameType

import orjson

import drumbeat.campaigns.cli.main

DIRECTORY_VARIABLE = "CHAOS_TASKS"


def list_tasks_on_signal() -> None:
    """On SIGUSR1, write the tasks of this process, by coroutine, to `PID.json` in the directory of the variable."""
    signal.signal(signal.SIGUSR1, _write_tasks)


def _write_tasks(_number: int, _frame: FrameType | None) -> None:
    try:
        names = Counter(getattr(task.get_coro(), "__qualname__", "?") for task in asyncio.all_tasks())
    except RuntimeError:  # its loop does not run yet, or has ended: there are no tasks
        return
    path = Path(os.environ[DIRECTORY_VARIABLE]) / f"{os.getpid()}.json"
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(orjson.dumps(names))
    unfinished.rename(path)


if __name__ == "__main__":
    list_tasks_on_signal()
    drumbeat.campaigns.cli.main.run()
