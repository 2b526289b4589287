"""The answers of a process to HTTP requests, as bytes."""

from functools import cache
from typing import NamedTuple

import orjson

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
_REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
_COMMON = b"x-content-type-options: nosniff\r\ncache-control: no-store\r\n"


class Answer(NamedTuple):
    """An answer: its status, its body and the type of the body."""

    status: int
    body: bytes = b""
    content_type: str = TEXT


def json_answer(status: int, content: object) -> Answer:
    return Answer(status, orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE), JSON)


def encode(answer: Answer, *, closes: bool, head_only: bool = False) -> bytes:
    """Return the bytes of an answer. `closes` says to the peer that it is the last of the connection.
    `head_only` leaves the body out, as the method HEAD asks for.
    """
    status, body, content_type = answer
    if head_only:
        return _head(status, len(body), content_type, closes)
    return _head(status, len(body), content_type, closes) + body if body else _empty(status, closes)


@cache
def _empty(status: int, closes: bool) -> bytes:
    return _head(status, 0, TEXT, closes)


def _head(status: int, length: int, content_type: str, closes: bool) -> bytes:
    line = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-length: {length}\r\n"
    kind = f"content-type: {content_type}\r\n"
    return (line + kind).encode() + _COMMON + (b"connection: close\r\n\r\n" if closes else b"\r\n")
