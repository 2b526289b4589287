"""What the receiver answers, as bytes, and what it reads before it answers."""

from functools import cache
from typing import NamedTuple

from http_server.limits import Limits

# The largest body (open point "Events") holds 1,000 updates: messages of up to 4,096 characters, each of up
# to six bytes in JSON. The service gives up a body that is refused for its size, so large ones are read,
# but few at a time.
LIMITS = Limits(
    body_bytes=32 * 1024 * 1024,
    usual_body_bytes=1024 * 1024,  # twice the size of a thousand statuses
    large_bodies=4,
    waiting_bytes=256 * 1024 * 1024,  # twice what four large bodies take
    head_bytes=16_384,
    headers=64,
    url_bytes=4_096,
    request_s=15.0,
    idle_s=75.0,
    connections=1_000,
    pipelined=64,
)
_REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Content Too Large",
    414: "URI Too Long",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}
_COMMON = (
    b"content-type: text/plain; charset=utf-8\r\n"
    b"x-content-type-options: nosniff\r\n"
    b"cache-control: no-store\r\n"
)


class Answer(NamedTuple):
    """The status and the text."""

    status: int
    body: bytes = b""


def encode(answer: Answer, *, closes: bool) -> bytes:
    """The bytes of an answer; `closes` tells the peer that it is the last of the connection."""
    if not answer.body:
        return _head_of_empty(answer.status, closes)
    return _head(answer.status, len(answer.body), closes) + answer.body


@cache
def _head_of_empty(status: int, closes: bool) -> bytes:
    return _head(status, 0, closes)


def _head(status: int, length: int, closes: bool) -> bytes:
    line = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-length: {length}\r\n"
    return line.encode() + _COMMON + (b"connection: close\r\n\r\n" if closes else b"\r\n")
