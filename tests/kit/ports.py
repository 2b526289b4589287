"""Ports of this machine."""

import socket


def free_port() -> int:
    """A port on which no server listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
