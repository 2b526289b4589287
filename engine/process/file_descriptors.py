"""The operating system's limit on this process' file descriptors. Each connection uses one."""

import resource
from contextlib import suppress

from drumbeat.engine.core.connection_limit import WANTED


def hard_limit() -> int:
    """Return the number up to which the process may raise its own limit."""
    return _counted(resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def raise_limit() -> int:
    """Raise the limit to what a sender can use, as far as allowed, and return the limit in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _counted(soft) < (wanted := min(WANTED, _counted(hard))):
        with suppress(ValueError, OSError):  # some kernels allow less than their hard limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return _counted(resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _counted(limit: int) -> int:
    return WANTED if limit == resource.RLIM_INFINITY else limit
