"""The translation of connection errors into readable reasons and outcomes."""

import asyncio
import errno
import os
import socket
from contextlib import ExitStack

from drumbeat.engine.core.classify import not_connected
from drumbeat.engine.core.outcome import NotSent
from drumbeat.engine.system_error import system_error_text

REASON_CHARACTERS_MAX = 200
RESOLUTION_DESCRIPTORS = 2  # a name lookup holds a file or a socket, and one more descriptor


def error_reason(problem: BaseException) -> str:
    """Return a connection error as text. Reports show it as the reason why a recipient is in doubt."""
    return system_error_text(problem)[:REASON_CHARACTERS_MAX]


def cancelled_by_pool(closed: bool) -> bool:
    """Return whether the pool caused the present cancellation, not the caller of this task.

    A pool that is `closed` cancels everyone who waits for a connection.
    """
    task = asyncio.current_task()
    return closed and task is not None and not task.cancelling()


def connect_failure(problem: BaseException) -> NotSent:
    """Return the outcome of a request for which no connection could be opened."""
    number = getattr(problem, "errno", None)
    unresolved = isinstance(getattr(problem, "os_error", problem), socket.gaierror)
    if unresolved and _descriptors_exhausted():
        number = errno.EMFILE  # the resolver reports only that the lookup failed
    return not_connected(error_reason(problem), number)


def _descriptors_exhausted() -> bool:
    with ExitStack() as taken:
        try:
            for _ in range(RESOLUTION_DESCRIPTORS):
                taken.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return True
    return False
