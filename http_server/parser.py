"""The parser of requests from the bytes of a connection. Law: everything that a peer can make grow has a
limit.
"""

from typing import NamedTuple, Protocol

import httptools

from drumbeat.http_server.body_quota import BodyQuota, BodyReader
from drumbeat.http_server.limits import Limits

Headers = dict[bytes, bytes]


class RawRequest(NamedTuple):
    """A complete request. Header names are in lower case; of a repeated header the last value counts."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes
    keep_alive: bool


class RequestSink(BodyReader, Protocol):
    """The connection for which a parser reads. `refuse` has no effect once the connection is closing."""

    def admit(self, method: bytes, target: bytes, /) -> int:
        """Return the largest body allowed, in bytes. Called at the end of a head."""
        ...

    def send_continue(self) -> None:
        """Permit the peer, which waits for that, to send the body."""
        ...

    def request_received(self, request: RawRequest, /) -> None:
        """Take a complete request."""
        ...


class RequestParser:
    """The parser of one connection. httptools calls the `on_…` attributes by name.

    `begun` counts the requests whose first byte has arrived.
    """

    def __init__(self, sink: RequestSink, limits: Limits, quota: BodyQuota) -> None:
        self.begun = 0
        self.in_request = False
        self._sink = sink
        self._limits = limits
        self._quota = quota
        self._in_head = True
        self._discarded = False  # the present request was refused: its rest is not kept
        self._head_bytes = self._chunk_bytes = 0
        self._target = b""
        self._headers: Headers = {}
        self._body: bytes | bytearray = b""
        self._body_bytes = self._body_limit_bytes = self._usual_bytes = 0
        # The bytes that arrived after the head, and the count of those that came since the body last grew.
        self._rest_bytes = self._body_bytes_before = self._trailer_bytes = 0
        # Bound methods of a list and a dict: the parser fills them without a call into Python for each line.
        self._url: list[bytes] = []
        self._raw_headers: Headers = {}
        self.on_url = self._url.append
        self.on_header = self._raw_headers.__setitem__
        self._parser = httptools.HttpRequestParser(self)

    def feed(self, data: bytes) -> None:
        """Parse bytes that arrived. Refuse bytes that are no request or exceed a limit."""
        self._chunk_bytes = len(data)
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._sink.refuse(400)
        if self._in_head:
            if self._head_bytes > self._limits.head_bytes:
                self._sink.refuse(431)
        elif self.in_request and not self._discarded:
            self._check_rest(len(data))

    def discard(self) -> None:
        """Free the part of the present request that was read, and keep nothing of its rest: it is refused."""
        self._discarded = True
        self._body = b""
        self._raw_headers.clear()
        self._quota.release(self._sink)

    def on_message_begin(self) -> None:
        self.begun += 1
        self.in_request = True
        self._discarded = False

    def on_headers_complete(self) -> None:
        raw, sink, limits = self._raw_headers, self._sink, self._limits
        self._headers = headers = {name.lower(): value for name, value in raw.items()}
        self._target = b"".join(self._url)
        if len(raw) > limits.headers or (self._may_be_long() and _size_of(raw) > limits.head_bytes):
            sink.refuse(431)
        elif len(self._target) > limits.url_bytes:
            sink.refuse(414)
        elif self._parser.should_upgrade():
            sink.refuse(400)
        self._in_head = False
        self._head_bytes = 0
        self._trailer_bytes = -self._chunk_bytes  # what came in the chunk of the head is not counted
        raw.clear()  # later fields are a trailer, which nobody reads
        limit_bytes = self._body_limit_bytes = sink.admit(self._parser.get_method(), self._target)
        usual_bytes = limits.usual_body_bytes
        self._usual_bytes = usual_bytes if usual_bytes < limit_bytes else limit_bytes
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length[:20]) > limit_bytes:
            sink.refuse(413)
        elif b"expect" in headers and headers[b"expect"].lower() == b"100-continue":
            sink.send_continue()

    def on_body(self, part: bytes) -> None:
        if self._discarded:
            return
        self._body_bytes += len(part)
        if self._body_bytes > self._usual_bytes and not self._may_grow():
            return
        if not self._body:
            self._body = part  # nearly always the whole body
            return
        # One piece of memory: a list of parts of two bytes would take twenty times their size.
        if not isinstance(self._body, bytearray):
            self._body = bytearray(self._body)
        self._body += part

    def on_message_complete(self) -> None:
        parser = self._parser
        method, keep_alive = parser.get_method(), parser.should_keep_alive()
        request = (method, self._target, self._headers, bytes(self._body), keep_alive)
        self._begin_anew()
        # Not RawRequest(...): every request has one, and this saves a call.
        self._sink.request_received(tuple.__new__(RawRequest, request))

    def _may_be_long(self) -> bool:
        """Return whether the head can exceed its limit. It can only if the pieces in which it came do."""
        return max(self._head_bytes, self._chunk_bytes) > self._limits.head_bytes

    def _may_grow(self) -> bool:
        """Return whether the body may have this size; refuse it if it is too large. Few large bodies are read
        at a time: many could fill the memory.
        """
        if self._body_bytes > self._body_limit_bytes:
            self._sink.refuse(413)
        elif self._quota.admit_large(self._sink):
            return True
        else:
            self._sink.refuse(503)
        return False

    def _check_rest(self, size: int) -> None:
        """Limit what follows a head: body, chunk headers and trailer. httptools keeps all of a trailer."""
        self._rest_bytes += size
        if self._body_bytes > self._body_bytes_before:
            self._body_bytes_before, self._trailer_bytes = self._body_bytes, 0
        else:
            self._trailer_bytes += size
        head_bytes = self._limits.head_bytes
        if self._rest_bytes > 2 * self._body_limit_bytes + head_bytes or self._trailer_bytes > head_bytes:
            self._sink.refuse(413)
        else:
            self._quota.hold(self._sink, len(self._body))

    def _begin_anew(self) -> None:
        """Be ready for the first byte of the next request."""
        self.in_request = False
        self._in_head = True
        self._head_bytes = 0
        self._url.clear()
        self._raw_headers.clear()
        self._body = b""
        if self._rest_bytes or self._body_bytes > self._usual_bytes:  # nearly never: the quota counts it
            self._quota.release(self._sink)
        self._body_bytes = self._rest_bytes = self._body_bytes_before = 0


def _size_of(headers: Headers) -> int:
    return sum(len(name) + len(value) for name, value in headers.items())
