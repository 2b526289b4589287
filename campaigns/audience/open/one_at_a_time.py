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
def one_at_a_time(wait_s_max: float) -> Iterator[bool]:
    """Hold the lock in the block. Give whether it was free within `wait_s_max`.

    A process that ends frees it.
    """
    path = Path(tempfile.gettempdir()) / f"drumbeat-workbook-{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield _locked(descriptor, time.monotonic() + wait_s_max)
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
