"""The name under which the audit notes an action: `name@host`."""

import getpass
import os
import socket


def actor() -> str:
    """The user and host of this process. In containers, a user may have no name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.getuid()}"
    return f"{name}@{socket.gethostname()}"
