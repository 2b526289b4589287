"""The emulator's connection: it answers a send whose head was parsed before without the parser."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from drumbeat.http_server.body_quota import BodyQuota
from drumbeat.http_server.connection import Application, HttpConnection
from drumbeat.http_server.limits import Limits
from drumbeat.http_server.parser import RawRequest
from drumbeat.http_server.replies import Ending

# A client uses some dozens of heads. At the limit all of them are forgotten.
KNOWN_HEADS_LIMIT = 4096


class KnownHead(NamedTuple):
    """A head of a send as the parser read it, and the length of the body that it announces."""

    head: bytes
    target: bytes
    authorization: bytes | None
    body_bytes: int


class SendGateway(Application, Protocol):
    """The part of the service that a connection uses."""

    known_heads: dict[bytes, KnownHead]

    def is_send(self, target: bytes, /) -> bool:
        """Return whether a POST to `target` is a send."""
        ...

    def send(self, target: bytes, authorization: bytes | None, body: bytes, /) -> bytes | None:
        """Return the reply to a send, or None if `target` takes none or a fault may strike."""
        ...

    def admit(self, method: bytes, target: bytes, /) -> int | Ending:
        """Return, at the end of a head, the largest body in bytes, or the end that a fault makes before the
        body.
        """
        ...


class EmulatorConnection(HttpConnection):
    """A connection that knows the heads of sends byte for byte.

    Clients repeat their heads, and parsing one costs more than everything else that HTTP does here.
    """

    def __init__(
        self, gateway: SendGateway, limits: Limits, quota: BodyQuota, on_end: Callable[[HttpConnection], None]
    ) -> None:
        super().__init__(gateway, limits, quota, on_end)
        self._gateway = gateway
        self._last_head: KnownHead | None = None
        self._last_request: RawRequest | None = None

    def data_received(self, data: bytes) -> None:
        parser, writer = self._parser, self._writer
        is_idle = not (parser.in_request or writer.slots or writer.closing)
        if is_idle and self._answer_known(data):
            return
        begun_before = parser.begun
        super().data_received(data)
        if is_idle and parser.begun == begun_before + 1 and self._last_request is not None:
            self._remember(data, self._last_request)
        self._last_request = None

    def admit(self, method: bytes, target: bytes) -> int:
        if self._writer.closing:
            return 0  # refused for its head: no fault applies to it
        admitted = self._gateway.admit(method, target)
        if isinstance(admitted, Ending):
            self.end(admitted)
            return 0
        return admitted

    def request_received(self, request: RawRequest) -> None:
        self._last_request = request
        super().request_received(request)

    def _answer_known(self, data: bytes) -> bool:
        """Answer a chunk that is one complete send with a known head."""
        known = self._last_head
        if known is None or not data.startswith(known.head):
            known = self._last_head = self._gateway.known_heads.get(data[: data.find(b"\r\n\r\n") + 4])
        if known is None or self._transport is None:
            return False
        body_begins = len(known.head)
        if len(data) - body_begins != known.body_bytes:
            return False
        reply = self._gateway.send(known.target, known.authorization, data[body_begins:])
        if reply is None:
            return False
        self._parser.begun += 1
        self._transport.write(reply)
        return True

    def _remember(self, data: bytes, request: RawRequest) -> None:
        """Keep the head of a chunk that was one complete request, unless its body was coded."""
        head, _, body = data.partition(b"\r\n\r\n")
        is_plain = body and body == request.body and b"expect" not in request.headers
        is_send = request.method == b"POST" and self._gateway.is_send(request.target)
        if not (is_plain and is_send and request.keep_alive):
            return
        known_heads = self._gateway.known_heads
        if len(known_heads) >= KNOWN_HEADS_LIMIT:
            known_heads.clear()
        head += b"\r\n\r\n"
        authorization = request.headers.get(b"authorization")
        known_heads[head] = KnownHead(head, request.target, authorization, len(body))
