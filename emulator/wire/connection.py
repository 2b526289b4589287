"""One connection: parses what arrives, hands whole requests on, writes replies in the order of the requests.

The law: the peer is not trusted. Everything it can make grow has a limit, everything it can leave unfinished
has a time, and whatever it sends, it gets a documented answer or an end.
"""

import asyncio
import os
import socket
import struct
from collections import deque
from typing import NamedTuple, Protocol

import httptools

from emulator.wire.outcome import Ending, Outcome

# A request line and headers together, beyond one chunk; clients of this service stay far below.
HEAD_LIMIT_BYTES = 32 * 1024
# Replies that a pipelining client may have open before its next requests wait in the socket.
PIPELINE_LIMIT = 128
# Ticks of a second for a request to arrive whole, and for an idle connection to live.
REQUEST_TIMEOUT_TICKS = 30
IDLE_TIMEOUT_TICKS = 90

# Heads of sends that are known by heart; some dozens serve a client.
HEADS_LIMIT = 4096

Headers = dict[bytes, bytes]


class KnownHead(NamedTuple):
    """What the parser made of a head, and the length of the body it announces."""

    head: bytes
    target: bytes
    headers: Headers
    body_bytes: int


class Gateway(Protocol):
    """What a connection needs from the service behind it. `tick` counts seconds since the start."""

    tick: int
    heads: dict[bytes, KnownHead]

    def joined(self, connection: "Connection") -> None:
        """A connection was made."""
        ...

    def left(self, connection: "Connection") -> None:
        """A connection is gone."""
        ...

    def quick(self, target: bytes, headers: Headers, body: bytes) -> bytes | None:
        """The reply to a POST of the fast path; None if `handle` must see the request."""
        ...

    def admit(self, method: bytes, target: bytes) -> int | Ending:
        """At the end of a head: the largest body allowed in bytes, or an end before the body is read."""
        ...

    def handle(self, method: bytes, target: bytes, headers: Headers, body: bytes, outcome: Outcome) -> None:
        """Answer a whole request through `outcome`, now or later. Never raises."""
        ...

    def refusal(self, status: int, details: str) -> bytes:
        """The bytes of a reply to something that is no request; the connection closes after it."""
        ...


class Connection(asyncio.Protocol):
    """Callbacks of the transport and of the parser (`on_…`, called by name)."""

    __slots__ = (
        "_body", "_body_limit_bytes", "_field_bytes", "_gateway", "_head_bytes", "_headers", "_in_head",
        "_in_request", "_last_head", "_last_seen_tick", "_outcomes", "_parser", "_quick_replies", "_target",
        "_transport", "_was_asked_last", "_write_paused",
    )  # fmt: skip

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self._outcomes: deque[Outcome] = deque()
        self._was_asked_last = False  # nothing more is read; the connection ends with the open replies
        self._write_paused = False
        self._in_head = self._in_request = False
        self._head_bytes = self._field_bytes = self._quick_replies = 0
        self._last_head: KnownHead | None = None
        self._last_seen_tick = gateway.tick
        self._target = b""
        self._headers: Headers = {}
        self._body: bytes | bytearray = b""
        self._body_limit_bytes = 0

    # --- the transport's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a stream server makes asyncio.Transport
        self._gateway.joined(self)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._gateway.left(self)
        self._transport = None
        self._outcomes.clear()

    def data_received(self, data: bytes) -> None:
        if self._was_asked_last:
            return
        if not (self._in_request or self._outcomes) and self._answer_known(data):
            return
        was_in_head = self._in_head
        self._quick_replies = 0
        begins_request = not self._in_request
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.refuse(400, "this is not a request of HTTP/1.1")
        self._head_bytes = self._head_bytes + len(data) if was_in_head and self._in_head else 0
        # Two counts, because the parser shows fields when they are whole and chunks may hold several heads.
        if max(self._head_bytes, self._field_bytes) > HEAD_LIMIT_BYTES:
            self._refuse_head()
        elif begins_request and self._quick_replies == 1 and not self._in_request:
            self._remember(data)

    def _answer_known(self, data: bytes) -> bool:
        """Answer a chunk that is one whole send whose head was parsed before, byte for byte the same.

        Clients repeat their heads, and parsing one costs more than everything else HTTP does here.
        """
        known = self._last_head
        if known is None or not data.startswith(known.head):
            body_begins = data.find(b"\r\n\r\n") + 4
            known = self._last_head = self._gateway.heads.get(data[:body_begins])
        if known is None or self._transport is None:
            return False
        body_begins = len(known.head)
        if len(data) - body_begins != known.body_bytes:
            return False
        reply = self._gateway.quick(known.target, known.headers, data[body_begins:])
        if reply is None:
            return False
        self._last_seen_tick = self._gateway.tick
        self._transport.write(reply)
        return True

    def _remember(self, data: bytes) -> None:
        """Keep the head of a chunk that was one whole send, unless its body was coded."""
        head, _, body = data.partition(b"\r\n\r\n")
        if body != self._body or not body or b"expect" in self._headers:
            return
        if len(self._gateway.heads) >= HEADS_LIMIT:
            self._gateway.heads.clear()
        head += b"\r\n\r\n"
        self._gateway.heads[head] = KnownHead(head, self._target, self._headers, len(body))

    def eof_received(self) -> bool:
        """A peer that closed its half still gets the replies to what it asked whole."""
        self._was_asked_last = True
        return bool(self._outcomes)

    def pause_writing(self) -> None:
        self._write_paused = True
        self._pace_reading()

    def resume_writing(self) -> None:
        self._write_paused = False
        self.flush()
        self._pace_reading()

    # --- the parser's calls

    def on_message_begin(self) -> None:
        self._in_head = self._in_request = True
        self._last_seen_tick = self._gateway.tick
        self._field_bytes = 0
        self._target = b""
        self._headers = {}
        self._body = b""

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._field_bytes += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._field_bytes += len(name) + len(value)
        if self._field_bytes <= HEAD_LIMIT_BYTES:
            self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._field_bytes > HEAD_LIMIT_BYTES:
            return self._refuse_head()
        if self._parser.should_upgrade():
            return self.refuse(400, "upgrades are not served")
        admitted = self._gateway.admit(self._parser.get_method(), self._target)
        if isinstance(admitted, Ending):
            self._was_asked_last = True
            return self._end(admitted)
        self._body_limit_bytes = admitted
        if b"expect" in self._headers and self._transport is not None and not self._was_asked_last:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return None

    def on_body(self, body: bytes) -> None:
        if not self._body:
            self._body = body
        elif isinstance(self._body, bytearray):
            self._body += body
        else:
            self._body = bytearray(self._body) + body
        if len(self._body) > self._body_limit_bytes:
            self._body = b""
            self.refuse(413, f"the body may have {self._body_limit_bytes} bytes")

    def on_message_complete(self) -> None:
        self._in_request = False
        if self._was_asked_last or self._transport is None:
            return
        if not self._parser.should_keep_alive():
            self._was_asked_last = True
        elif not self._outcomes and self._parser.get_method() == b"POST":
            reply = self._gateway.quick(self._target, self._headers, bytes(self._body))
            if reply is not None:
                self._quick_replies += 1
                self._transport.write(reply)
                return
        self._handle()

    # --- replies

    def _handle(self) -> None:
        outcome = Outcome(self.flush, last=self._was_asked_last)
        self._outcomes.append(outcome)
        self._pace_reading()
        method = self._parser.get_method()
        self._gateway.handle(method, self._target, self._headers, bytes(self._body), outcome)

    def flush(self) -> None:
        """Write what is ready, in the order asked; called when a reply is complete or the peer reads on."""
        while self._outcomes and self._outcomes[0].ready and not self._write_paused:
            if self._transport is None:
                return None
            outcome = self._outcomes[0]
            chunk = next(outcome.chunks, None)
            if chunk is not None:
                self._transport.write(chunk)
                if outcome.pause_s is not None:
                    outcome.rest(asyncio.get_running_loop())
                continue
            self._outcomes.popleft()
            if outcome.ending is not Ending.KEEP:
                return self._end(outcome.ending)
        if not self._outcomes and self._was_asked_last:
            return self._end(Ending.CLOSE)
        return self._pace_reading()

    def refuse(self, status: int, details: str) -> None:
        """Answer something that is no request, after the replies still open, and end the connection."""
        if self._was_asked_last or self._transport is None:
            return
        self._was_asked_last = True
        outcome = Outcome(self.flush, last=True)
        self._outcomes.append(outcome)
        outcome.finish(self._gateway.refusal(status, details))

    def _refuse_head(self) -> None:
        self.refuse(431, f"request line and headers may take {HEAD_LIMIT_BYTES} bytes")

    def check_time(self, tick: int) -> None:
        """End what stays unfinished or idle for too long."""
        if self._outcomes:
            return
        if self._in_request and tick - self._last_seen_tick > REQUEST_TIMEOUT_TICKS:
            self.refuse(408, f"a request must arrive within {REQUEST_TIMEOUT_TICKS} s")
        elif tick - self._last_seen_tick > IDLE_TIMEOUT_TICKS:
            self._end(Ending.CLOSE)

    def finish_up(self) -> None:
        """The service stops: close now, or with the replies still open."""
        self._was_asked_last = True
        if not self._outcomes:
            self._end(Ending.CLOSE)

    def abort(self) -> None:
        """The service has stopped waiting."""
        if self._transport is not None:
            self._transport.abort()

    def _end(self, ending: Ending) -> None:
        if self._transport is None:
            return
        if ending is Ending.RESET:
            _send_reset_on_close(self._transport)
            self._transport.abort()
        else:
            self._transport.close()

    def _pace_reading(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if self._write_paused or len(self._outcomes) >= PIPELINE_LIMIT:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()


def _send_reset_on_close(transport: asyncio.Transport) -> None:
    """Have the kernel send RST instead of FIN; the option is the open file's, so a duplicate can set it."""
    with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as twin:
        twin.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
