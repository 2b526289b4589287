"""The limits of a server."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on what one peer may send, leave unfinished or keep open.

    The last three apply to all connections together.
    """

    body_bytes: int
    usual_body_bytes: int  # only a few bodies may be larger, see `large_bodies`
    head_bytes: int = 16_384
    headers: int = 64
    url_bytes: int = 4_096
    request_s: float = 15.0  # from the first byte of a request to its last
    idle_s: float = 75.0
    pipelined: int = 64  # requests without a reply; the server then reads nothing more until a reply has left
    connections: int = 1_000
    large_bodies: int = 4  # read at the same time; the server answers 503 to more
    waiting_bytes: int = 256 * 1024 * 1024  # of all bodies whose end has not arrived
