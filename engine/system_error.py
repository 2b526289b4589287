"""A connection that failed, in the words of the system, such as "Connection refused"."""

from __future__ import annotations

import os
import socket
import ssl


def system_error_text(problem: BaseException) -> str:
    """Without what libraries put around it: "Cannot connect to host … ssl:default [Connect call …]"."""
    cause = getattr(problem, "os_error", problem)  # as the service's client keeps it
    if isinstance(cause, socket.gaierror):
        return cause.strerror or str(cause)
    # The numbers of TLS are its own. One of several addresses has none, but says what was tried.
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and cause.errno:
        return os.strerror(cause.errno)
    return str(problem) or ("no answer" if isinstance(problem, TimeoutError) else type(problem).__name__)
