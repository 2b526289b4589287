"""HTTP for the receiver: one connection's requests in, their answers out in order, everything bounded.

Law: an answer that waits for a commit holds back the later answers of its connection (pipelining), never
those of others. What the peer may send without being answered is bounded in size, number and time.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol, cast

import httptools

from engine.webhooks.places import Places

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
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_COMMON = (
    b"content-type: text/plain; charset=utf-8\r\n"
    b"x-content-type-options: nosniff\r\n"
    b"cache-control: no-store\r\n"
)
# A refused peer is still sending: closing at once would reset the connection before it reads why.
LINGER_S = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What one peer may ask of us, and in large bodies all of them together.

    The largest body (open point "Events") holds 1,000 updates: messages of up to 4,096 characters, which JSON
    may write in six bytes each. Refused for its size it would be lost: large ones are read, few at a time.
    """

    body_bytes: int = 32 * 1024 * 1024
    usual_body_bytes: int = 1024 * 1024  # of a thousand statuses it is twice the size
    large_bodies: int = 4  # beyond the usual size, at a time; more are 503, and come again
    waiting_bytes: int = 256 * 1024 * 1024  # of all bodies whose rest is to come: twice what large ones take
    head_bytes: int = 16_384
    headers: int = 64
    url_bytes: int = 4_096
    request_s: float = 15.0  # from a request's first byte to its last
    idle_s: float = 75.0
    connections: int = 1_000
    pipelined: int = 64  # beyond it nothing more is read until an answer has left


class Answer(NamedTuple):
    """`close`: nothing of this connection is read any more."""

    status: int
    body: bytes = b""
    close: bool = False


class Slot:
    """The place of one answer in its connection's order; filled once, at once or much later."""

    __slots__ = ("_connection", "answer", "keep_alive")

    def __init__(self, connection: "HttpConnection", keep_alive: bool) -> None:
        self._connection = connection
        self.keep_alive = keep_alive
        self.answer: Answer | None = None

    def fill(self, answer: Answer) -> None:
        if self.answer is None:
            self.answer = answer
            self._connection.send_ready()


class Handler(Protocol):
    """Takes one whole request. `headers`: names in lower case; of a repeated one the last."""

    def __call__(
        self, slot: Slot, method: bytes, target: bytes, headers: dict[bytes, bytes], body: bytes, /
    ) -> None: ...


class HttpConnection(asyncio.Protocol):
    """One peer. `handle` gets every whole request and a slot to fill; `on_end` hears of its end.

    `answers` counts what was answered, by status.
    """

    def __init__(
        self,
        handle: Handler,
        limits: Limits,
        places: Places,
        on_end: Callable[["HttpConnection"], None],
        answers: Counter[int],
    ) -> None:
        self._handle = handle
        self._limits = limits
        self._places = places
        self._has_place = False
        self._usual_bytes = min(limits.usual_body_bytes, limits.body_bytes)
        self._on_end = on_end
        self._answers = answers
        self._transport: asyncio.Transport | None = None
        self._slots: deque[Slot] = deque()
        self._reading = True
        self._writable = True
        self._ending = False
        self._refused = False
        self._head_bytes = 0
        self._chunk_bytes = 0
        self._in_request = False
        self._in_head = True
        self._target = b""
        self._body: bytes | bytearray = b""
        self._body_bytes = self._rest_bytes = 0
        self._bytes_before = self._trailer_bytes = 0  # of the body; and what came since, without any of it
        # The parser fills these without a call into Python for each line of a head.
        self._url: list[bytes] = []
        self._raw_headers: dict[bytes, bytes] = {}
        self._headers: dict[bytes, bytes] = {}
        self.on_url = self._url.append
        self.on_header = self._raw_headers.__setitem__
        self._parser = httptools.HttpRequestParser(self)
        self._deadline: float | None = None  # of the present request or pause, once a sweep has seen it

    # --- what the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports are no subclasses of it

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        self._transport = None
        self._slots.clear()
        self._give_place_back()
        self._on_end(self)

    def eof_received(self) -> bool:
        self._ending = True
        return bool(self._slots)  # half-closed: what was asked is still answered

    def pause_writing(self) -> None:
        self._writable = False
        self._steer_reading()

    def resume_writing(self) -> None:
        self._writable = True
        self._steer_reading()

    def data_received(self, data: bytes) -> None:
        if self._ending:
            return
        self._chunk_bytes = len(data)
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400)
        except httptools.HttpParserError:
            if not self._ending:
                self._refuse(400)
        if self._in_head and self._head_bytes > self._limits.head_bytes and not self._ending:
            self._refuse(431)
        elif self._in_request and not self._in_head:
            self._look_at_rest(len(data))
        if len(self._slots) >= self._limits.pipelined:
            self._steer_reading()

    # --- what the parser tells

    def on_message_begin(self) -> None:
        self._in_request = True
        self._deadline = None

    def on_headers_complete(self) -> None:
        raw, limits = self._raw_headers, self._limits
        self._headers = headers = {name.lower(): value for name, value in raw.items()}
        self._target = b"".join(self._url)
        if len(raw) > limits.headers or (self._may_be_long() and _size_of(raw) > limits.head_bytes):
            self._refuse(431)
        elif len(self._target) > limits.url_bytes:
            self._refuse(414)
        self._in_head = False
        self._head_bytes = 0
        self._trailer_bytes = -self._chunk_bytes  # what came with the head is not looked at
        raw.clear()  # what comes yet is a trailer, which nobody reads
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > limits.body_bytes:
            self._refuse(413)
        elif headers.get(b"expect", b"").lower() == b"100-continue" and not self._slots:
            self._write(_CONTINUE)

    def on_body(self, part: bytes) -> None:
        self._body_bytes += len(part)
        if self._body_bytes <= self._usual_bytes or self._may_grow():
            if not self._body:
                self._body = part  # nearly always all of it
            else:  # one piece of memory: a list of two-byte parts holds twenty times their size
                if not isinstance(self._body, bytearray):
                    self._body = bytearray(self._body)
                self._body += part

    def on_message_complete(self) -> None:
        if self._ending:
            return
        parser = self._parser
        slot = Slot(self, parser.should_keep_alive())
        self._slots.append(slot)
        target, headers, body = self._target, self._headers, bytes(self._body)
        self._reset()
        self._handle(slot, parser.get_method(), target, headers, body)

    # --- answers

    def send_ready(self) -> None:
        """Write the answers whose turn it is."""
        out = b""
        slots = self._slots
        while slots and (answer := slots[0].answer) is not None:
            slot = slots.popleft()
            closes = answer.close or not slot.keep_alive
            out += _encode(answer, closes)
            self._answers[answer.status] += 1
            if closes:
                self._ending = True
                slots.clear()
        if out:
            self._write(out)
        if self._ending and not slots:
            self._end()
        elif not self._reading:
            self._steer_reading()

    def expire(self, now: float) -> None:
        """Called now and then: ends a slow or idle peer. What waits for a commit is not the peer's fault.

        The time allowed begins with the first call that sees the request, or the pause after it: so no
        request asks for the time.
        """
        if self._slots:
            return
        if self._deadline is None:
            self._deadline = now + (self._limits.request_s if self._in_request else self._limits.idle_s)
        elif now < self._deadline:
            return
        elif self._in_request and not self._ending:
            self._refuse(408)
        elif self._refused or not self._writable:
            self.abort()
        else:
            self._close()

    def stop(self) -> None:
        """Read nothing more; end as soon as what was asked is answered."""
        self._ending = True
        if not self._slots:
            self._close()

    def give_way(self) -> None:
        """The body under way is not wanted now; it may come again."""
        self._refuse(503)

    def abort(self) -> None:
        """End now, whatever is unanswered."""
        if self._transport is not None:
            self._transport.abort()

    # --- its own

    def _may_grow(self) -> bool:
        """Whether the body may go beyond the usual size: unsigned, many such ones could fill the memory."""
        if self._body_bytes > self._limits.body_bytes:
            self._refuse(413)
        elif not (self._has_place or self._places.free):
            self._refuse(503)
        elif not (self._has_place or self._ending):
            self._places.free -= 1
            self._has_place = True
        return self._has_place

    def _look_at_rest(self, size: int) -> None:
        """Of what follows a head, with the seams of a body in chunks. The parser keeps all of a trailer."""
        self._rest_bytes += size
        if self._body_bytes > self._bytes_before:
            self._bytes_before, self._trailer_bytes = self._body_bytes, 0
        else:
            self._trailer_bytes += size
        limits = self._limits
        too_long = self._rest_bytes > 2 * limits.body_bytes + limits.head_bytes
        if too_long or self._trailer_bytes > limits.head_bytes:
            self._refuse(413)
        if not self._ending:
            self._places.hold(self, len(self._body))

    def _give_place_back(self) -> None:
        self._places.let_go(self)
        if self._has_place:
            self._has_place = False
            self._places.free += 1

    def _may_be_long(self) -> bool:
        """Whether the head can be over its limit at all: it came in a few pieces at most."""
        return max(self._head_bytes, self._chunk_bytes) > self._limits.head_bytes

    def _reset(self) -> None:
        """Ready for the next request's first byte."""
        self._in_request = False
        self._in_head = True
        self._head_bytes = 0
        self._url.clear()
        self._raw_headers.clear()
        self._body = b""
        self._body_bytes = self._rest_bytes = self._bytes_before = 0
        self._give_place_back()
        self._deadline = None

    def _refuse(self, status: int) -> None:
        """The last answer of this connection, in its turn."""
        if self._ending:
            return
        self._ending = self._refused = True
        self._body = b""
        self._raw_headers.clear()
        self._give_place_back()
        slot = Slot(self, keep_alive=False)
        self._slots.append(slot)
        slot.fill(Answer(status, close=True))

    def _end(self) -> None:
        """All is answered. Who was refused in the middle of sending is read, and ignored, a little longer."""
        if self._refused and self._transport is not None and not self._transport.is_closing():
            self._deadline = asyncio.get_running_loop().time() + LINGER_S
            self._transport.write_eof()
            self._steer_reading()
        else:
            self._close()

    def _steer_reading(self) -> None:
        wanted = self._writable and len(self._slots) < self._limits.pipelined
        if self._transport is None or wanted == self._reading or self._transport.is_closing():
            return
        self._reading = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _close(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()


def _size_of(headers: dict[bytes, bytes]) -> int:
    return sum(len(name) + len(value) for name, value in headers.items())


def _encode(answer: Answer, closes: bool) -> bytes:
    if not answer.body:
        return _head_of_empty(answer.status, closes)
    return _head(answer.status, len(answer.body), closes) + answer.body


@cache
def _head_of_empty(status: int, closes: bool) -> bytes:
    return _head(status, 0, closes)


def _head(status: int, length: int, closes: bool) -> bytes:
    line = f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-length: {length}\r\n"
    return line.encode() + _COMMON + (b"connection: close\r\n\r\n" if closes else b"\r\n")
