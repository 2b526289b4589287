"""The operating system's limit of this process' descriptors: each connection takes one."""

import resource
from contextlib import suppress

from engine.core.connection_limit import WANTED


def hard_limit() -> int:
    """How many the process may ask for."""
    return _counted(resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def raise_limit() -> int:
    """Ask for as many as a sender can use; returns how many there are now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _counted(soft) < (wanted := min(WANTED, _counted(hard))):
        with suppress(ValueError, OSError):  # some kernels allow less than their hard limit says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return _counted(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _counted(limit: int) -> int:
    return WANTED if limit == resource.RLIM_INFINITY else limit
