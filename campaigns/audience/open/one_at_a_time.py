"""A lock, so that the processes of a user on a machine read one workbook at a time."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_S = 0.05


@contextmanager
def one_at_a_time(wait_s_max: float) -> Iterator[int | None]:
    """Hold the lock in the block, and give its descriptor; None if it was not free within `wait_s_max`.

    The lock is free when each process that has the descriptor closed it or ended. So whoever starts a reader
    passes it on: a reader that outlives its parent keeps the lock.
    """
    path = Path(tempfile.gettempdir()) / f"drumbeat-workbook-{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor if _locked(descriptor, time.monotonic() + wait_s_max) else None
    finally:
        os.close(descriptor)


def _locked(descriptor: int, deadline_s: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline_s:
                return False
            time.sleep(LOOK_S)
        else:
            return True
