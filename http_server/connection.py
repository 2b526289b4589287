"""One connection: requests in, their replies out in order, and an end for a slow, idle or refused peer.

Law: the peer is not trusted. What it sends gets a reply or an end; what it leaves unfinished has a time-out.
A reply that waits for the application holds back the later replies of its own connection, never of others.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

from drumbeat.http_server.body_quota import BodyQuota
from drumbeat.http_server.limits import Limits
from drumbeat.http_server.parser import RawRequest, RequestParser
from drumbeat.http_server.replies import Ending, ReplySlot, ReplyWriter, reset

# A refused peer may still be sending. If the server closed at once, the kernel would reset the connection
# before the peer reads the reply.
LINGER_S = 2.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Application(Protocol):
    """The application that answers the requests of all connections of a server. Neither method may raise."""

    def handle(self, request: RawRequest, slot: ReplySlot, /) -> None:
        """Fill `slot` with the reply, now or later. If `slot.last`, the connection closes after it."""
        ...

    def refusal(self, status: int, /) -> bytes:
        """Return the reply to bytes that are no request or exceed a limit. The connection closes after it."""
        ...


class HttpConnection(asyncio.Protocol):
    """The protocol of one peer. asyncio calls the first six methods, the parser the next four.

    `on_end` is called once, when the connection is gone.
    """

    def __init__(
        self,
        application: Application,
        limits: Limits,
        quota: BodyQuota,
        on_end: Callable[["HttpConnection"], None],
    ) -> None:
        self._application = application
        self._limits = limits
        self._on_end = on_end
        self._transport: asyncio.Transport | None = None
        self._writer = ReplyWriter(limits.pipelined, self.end)
        self._parser = RequestParser(self, limits, quota)
        self._was_refused = False
        self._deadline: float | None = None
        self._state_timed = (0, False)  # for which the deadline was set

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The transports of uvloop have the methods of asyncio.Transport without being instances of it.
        self._transport = self._writer.transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002  # the signature is asyncio's
        self._transport = None
        self._writer.abandon()
        self._parser.discard()
        self._on_end(self)

    def data_received(self, data: bytes) -> None:
        if not self._writer.closing:
            self._parser.feed(data)

    def eof_received(self) -> bool:
        """Keep the connection open for replies. A peer that closed its half still gets the replies to its
        complete requests.
        """
        self._writer.closing = True
        return bool(self._writer.slots)

    def pause_writing(self) -> None:
        self._writer.set_writable(False)

    def resume_writing(self) -> None:
        if not self._was_refused:
            self._deadline = None
        self._writer.set_writable(True)

    def admit(self, method: bytes, target: bytes) -> int:  # noqa: ARG002  # for those who override it
        """Return the largest body in bytes; see `RequestSink`."""
        return self._limits.body_bytes

    def send_continue(self) -> None:
        if self._transport is not None and not (self._writer.slots or self._writer.closing):
            self._transport.write(_CONTINUE)

    def request_received(self, request: RawRequest) -> None:
        if not self._writer.closing:
            self._application.handle(request, self._writer.open_slot(last=not request.keep_alive))

    def refuse(self, status: int) -> None:
        """Answer with a refusal, after the replies still open, and end the connection."""
        if self._writer.closing:
            return
        self._was_refused = True
        self._parser.discard()
        self._writer.open_slot(last=True).finish(self._application.refusal(status))

    def expire(self, now: float) -> None:
        """End a peer that is too slow or idle. Called about once a second, with the time of the event loop.

        The time allowed begins with the first call after a request began or ended, or after the peer read on.
        So no request needs to ask for the time. While a reply waits for the application, the peer is not at
        fault.
        """
        parser, writer = self._parser, self._writer
        if writer.slots and writer.is_writable:
            return
        state = (parser.begun, parser.in_request)
        if self._deadline is None or state != self._state_timed:
            limits, self._state_timed = self._limits, state
            self._deadline = now + (limits.request_s if parser.in_request else limits.idle_s)
        elif now < self._deadline:
            return
        elif parser.in_request and not writer.closing:
            self.refuse(408)
        elif self._was_refused or not writer.is_writable:
            self.abort()
        else:
            self.end(Ending.CLOSE)

    def stop(self) -> None:
        """Read nothing more; end as soon as the open replies are written."""
        self._writer.closing = True
        if not self._writer.slots and self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End now, whatever is unanswered."""
        if self._transport is not None:
            self._transport.abort()

    def end(self, ending: Ending) -> None:
        """End the connection after all replies are written. The input of a refused peer is read and ignored a
        little longer.
        """
        self._writer.closing = True
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if ending is Ending.RESET:
            reset(transport)
        elif self._was_refused:
            self._deadline = asyncio.get_running_loop().time() + LINGER_S
            self._state_timed = (self._parser.begun, self._parser.in_request)
            if transport.can_write_eof():  # TLS has no half of a connection to close
                transport.write_eof()
            self._writer.steer_reading()
        else:
            transport.close()
