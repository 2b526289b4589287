"""What the receiver answers, as bytes, and what it reads before it answers."""

from functools import cache
from typing import NamedTuple

from http_server.limits import Limits

# The largest body (open point "Events") holds 1,000 updates: messages of up to 4,096 characters, each of up
# to six bytes in JSON. A body refused for its size would be lost in the end, so a few large ones may be read
# at a time. A thousand statuses take half of the usual size, four large bodies half of `waiting_bytes`.
LIMITS = Limits(body_bytes=32 * 1024 * 1024, usual_body_bytes=1024 * 1024)
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
