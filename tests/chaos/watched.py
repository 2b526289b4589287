"""The product, which tells its tasks when asked: `python -m tests.chaos.watched drumbeat's arguments`.

A file says what a process holds open, the operating system lists its files; of its tasks only it knows.
"""

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from types import FrameType

import orjson

import campaigns.cli.main

DIRECTORY_VARIABLE = "CHAOS_TASKS"


def tell_tasks_on_signal() -> None:
    """On SIGUSR1 the tasks of this process, by coroutine, go to `PID.json` in the directory of the variable."""
    signal.signal(signal.SIGUSR1, _tell)


def _tell(_number: int, _frame: FrameType | None) -> None:
    try:
        names = Counter(getattr(task.get_coro(), "__qualname__", "?") for task in asyncio.all_tasks())
    except RuntimeError:  # its loop does not run yet, or no more: there are no tasks to tell of
        return
    told = Path(os.environ[DIRECTORY_VARIABLE]) / f"{os.getpid()}.json"
    unfinished = told.with_suffix(".part")
    unfinished.write_bytes(orjson.dumps(names))
    unfinished.rename(told)


if __name__ == "__main__":
    tell_tasks_on_signal()
    campaigns.cli.main.run()
