"""A decoded request, and the bytes of its reply."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote

import orjson

from drumbeat.emulator.errors import Refused

JSON_TYPE = "application/json; charset=UTF-8"


@dataclass(frozen=True, slots=True)
class Request:
    """A decoded request. `path` and `query` are decoded, header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    body: bytes
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply. `headers` are added to the type and the length of the content."""

    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StreamReply:
    """A reply of unknown length, made while the peer reads. A chunk takes some milliseconds to make."""

    chunks: Iterable[bytes]
    content_type: str


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a request's body. `Refused` (100) for anything else."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(100, f"the body is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise Refused(100, "the body is a JSON object")
    return content


def json_reply(content: Any) -> Reply:
    """Return a reply with `content` as JSON."""
    return Reply(200, orjson.dumps(content))


def render_stream(reply: StreamReply, *, closing: bool) -> Iterator[bytes]:
    """Yield the bytes of a reply, chunk by chunk."""
    ending = "Connection: close\r\n" if closing else ""
    yield (
        f"HTTP/1.1 200 OK\r\nContent-Type: {reply.content_type}\r\nTransfer-Encoding: chunked\r\n{ending}\r\n"
    ).encode("latin-1")
    for chunk in reply.chunks:
        if chunk:
            yield b"%x\r\n%b\r\n" % (len(chunk), chunk)
    yield b"0\r\n\r\n"


def render(reply: Reply, *, closing: bool = False) -> bytes:
    """Return the bytes of a reply. `closing` tells the peer that it is the last of the connection."""
    lines = [
        f"HTTP/1.1 {reply.status} {_phrase(reply.status)}",
        f"Content-Type: {reply.content_type}",
        f"Content-Length: {len(reply.body)}",
        *(f"{name}: {value}" for name, value in reply.headers),
    ]
    if closing:
        lines.append("Connection: close")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + reply.body


def split_target(target: bytes) -> tuple[str, dict[str, str]]:
    """Return path and query of a request target. Of a repeated query field the last counts.

    Raises UnicodeDecodeError or ValueError for a target that is no text.
    """
    path, _, query = target.decode("ascii").partition("?")
    fields = parse_qs(query, keep_blank_values=True, max_num_fields=100, errors="strict")
    return unquote(path, errors="strict"), {name: values[-1] for name, values in fields.items()}


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"
