"""Who decides, for the audit: `name@host`."""

from __future__ import annotations

import getpass
import os
import socket


def actor() -> str:
    """The user of this process and its host; containers run as users that have no name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.getuid()}"
    return f"{name}@{socket.gethostname()}"
