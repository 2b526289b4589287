"""How an error of a connection is reported, in words for people."""

import asyncio
import errno
import os
import socket
from contextlib import ExitStack

from engine.core.classify import not_connected
from engine.core.outcome import NotSent
from engine.system_error import system_error_text

REASON_CHARACTERS_MAX = 200
RESOLUTION_DESCRIPTORS = 2  # of a look-up of a name at a time: a file or a socket, and one more


def reason_of(problem: BaseException) -> str:
    """A break in words for people: in a report it is why somebody is in doubt."""
    return system_error_text(problem)[:REASON_CHARACTERS_MAX]


def cancelled_by_pool(closed: bool) -> bool:
    """Whether a cancellation comes from the pool, which cancels whoever waits in it when it is `closed`, and
    not from whoever runs this task.
    """
    task = asyncio.current_task()
    return closed and task is not None and not task.cancelling()


def not_sent(problem: BaseException) -> NotSent:
    """The outcome where no connection came about."""
    number = getattr(problem, "errno", None)
    unresolved = isinstance(getattr(problem, "os_error", problem), socket.gaierror)
    if unresolved and _no_descriptor_is_left():
        number = errno.EMFILE  # the system's look-up says only that it failed
    return not_connected(reason_of(problem), number)


def _no_descriptor_is_left() -> bool:
    with ExitStack() as taken:
        try:
            for _ in range(RESOLUTION_DESCRIPTORS):
                taken.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return True
    return False
