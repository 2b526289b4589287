"""The description of a connection failure by the system's own message, such as "Connection refused"."""

import os
import socket
import ssl


def system_error_text(problem: BaseException) -> str:
    """Return the message of the system, without what libraries add: "Cannot connect to host
    … [Connect …]".
    """
    cause = getattr(problem, "os_error", problem)  # aiohttp keeps the system's error here
    if isinstance(cause, socket.gaierror):
        return cause.strerror or str(cause)
    distrusted = getattr(problem, "certificate_error", cause)
    if isinstance(distrusted, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({distrusted.verify_message or 'it cannot be verified'})"
    # An SSLError has its own error numbers. An error about several addresses has none, but names them.
    if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and cause.errno:
        return os.strerror(cause.errno)
    return str(problem) or ("no answer" if isinstance(problem, TimeoutError) else type(problem).__name__)
