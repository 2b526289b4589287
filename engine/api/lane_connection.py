"""A lane: one connection of aiohttp's pool, which carries one request at a time.

A lane is aiohttp's own connection protocol with aiohttp's own parser. It skips what a session builds for
every request: header objects, writer, response, stream and timer.

Law: nothing is awaited between the gate and the single write. A request that was written without a complete
reply is Unknown; a request that was not written is NotSent. An unrequested reply closes the connection.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from aiohttp.client_proto import ResponseHandler

from drumbeat.engine.api.connection_errors import REASON_CHARACTERS_MAX, error_reason
from drumbeat.engine.api.parsing import ends_reply, is_between_replies
from drumbeat.engine.api.reply import BODY_BYTES_MAX, outcome_of
from drumbeat.engine.api.transport import Answered, PermitGate
from drumbeat.engine.core.outcome import NotSent, Outcome, Unknown

if TYPE_CHECKING:
    from aiohttp.connector import Connection
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

LINE_BYTES_MAX = 8_190
HEADERS_MAX = 128
# The head of a plain reply has one Content-Length and no other header that changes how the body is framed.
# The first letters are spelled out: a match that ignores the case of every letter takes twice the time.
_FRAMING_NAME = rb"[Cc](?i:ontent-(?:length|encoding)|onnection)|[Tt](?i:ransfer-|railer)|[Uu](?i:pgrade)"
# The group is not possessive: in CPython 3.11.2 it would then match nothing. It can match in one way only, so
# it need not be.
_OTHER_HEADERS = (
    rb"(?:\r\n(?!" + _FRAMING_NAME + rb")[A-Za-z0-9-]++:[ -~]*+){0,%d}" % ((HEADERS_MAX - 1) // 2)
)
_CONTENT_LENGTH = rb"\r\n[Cc](?i:ontent-length): ?([0-9]{1,6})"
_PLAIN_HEAD = re.compile(
    rb"HTTP/1\.1 200 [ -~]*+" + _OTHER_HEADERS + _CONTENT_LENGTH + _OTHER_HEADERS + rb"\r\n\r\n"
)
NO_HEADERS: Mapping[str, str] = {}  # an acceptance is read from its body alone


class LaneOwner(Protocol):
    """The keeper of the lanes that no request uses."""

    def begin_request(self, lane: Lane, phone_number_id: str, payload: bytes) -> bytes:
        """Start the reply's deadline, and return the bytes of the whole request, to be written now."""
        ...

    def end_request(self, lane: Lane) -> None:
        """Note that the exchange on the lane has ended."""
        ...

    def release(self, lane: Lane) -> None:
        """Keep the lane unused: nothing was written to it. Its keep-alive deadline stays as it was."""
        ...


class _GateWait:
    """The wait of a request at its gate. It ends early if the connection breaks."""

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self._broken_reason: str | None = None

    def end(self, reason: str) -> None:
        """End the wait, because the connection broke."""
        if self._broken_reason is None and self._task is not None:
            self._broken_reason = reason
            self._task.cancel()

    async def refusal(self, gate: PermitGate) -> NotSent | None:
        """Wait for the gate. Return None if it opened, else the reason why the request is not sent."""
        task = self._task
        assert task is not None
        cancelling = task.cancelling()
        try:
            opened = await gate()
        except asyncio.CancelledError:
            if self._broken_reason is not None and task.cancelling() > cancelling:
                task.uncancel()  # undoes the cancellation by `end`
            if task.cancelling() > cancelling:
                raise
            broken = self._broken_reason is not None
            return NotSent(self._broken_reason or "the gate was cancelled", unreachable=broken)
        if not opened:
            return NotSent("claim expired")
        return None if self._broken_reason is None else NotSent(self._broken_reason, unreachable=True)


class Lane(ResponseHandler):
    """The protocol of a connection: aiohttp's own before `attach`, and after `detach` or `disconnect`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.deadline_s = 0.0  # on the loop's clock: of the request in flight, otherwise of the keep-alive
        self._connection: Connection | None = None
        self._owner: LaneOwner | None = None
        self._gate_wait: _GateWait | None = None
        self._answered: Answered | None = None  # the callback of the request in flight
        self._message: RawResponseMessage | None = None
        self._body: StreamReader | None = None
        self._between_replies = True  # the parser expects the beginning of a reply
        self.suspect = False  # more than plain replies arrived: check `usable` before the next request

    @property
    def usable(self) -> bool:
        """Return whether a request may be written: the lane is connected and no unread bytes are pending."""
        transport = self.transport
        return transport is not None and not transport.is_closing() and not self.should_close

    def attach(self, connection: Connection, owner: LaneOwner) -> None:
        """Take the connection out of aiohttp's pool. One parser reads all its replies from now on."""
        self._connection = connection
        self._owner = owner
        if self.transport is not None and self.transport.get_extra_info("sslcontext") is None:
            # By default, uvloop keeps the bytes until its turn ends. The pace is judged by when they leave.
            self.transport.set_write_buffer_limits(high=0)
        self.set_response_params(
            read_until_eof=True,
            read_bufsize=BODY_BYTES_MAX,
            max_line_size=LINE_BYTES_MAX,
            max_field_size=LINE_BYTES_MAX,
            max_headers=HEADERS_MAX,
        )

    def detach(self) -> None:
        """Return the connection to aiohttp's pool. The pool closes it if it is not usable."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.release()

    def disconnect(self, reason: str) -> None:
        """Close the connection. A request in flight becomes Unknown."""
        self._break(reason)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def write(self, phone_number_id: str, payload: bytes, answered: Answered) -> None:
        """Write as `transport.IdleConnection` says. Nothing may be awaited once the lane was found usable."""
        assert self.transport is not None and self._owner is not None
        self._answered = answered
        try:
            self.transport.write(self._owner.begin_request(self, phone_number_id, payload))
        except Exception as problem:  # the failed write may have sent some bytes
            self._loop.call_soon(self._break, error_reason(problem))

    def release(self) -> None:
        assert self._owner is not None
        self._owner.release(self)

    async def exchange(
        self, phone_number_id: str, payload: bytes, gate: PermitGate, gate_until_s: float
    ) -> Outcome:
        """Wait at the gate, write the request at once, and return the outcome of its reply."""
        keepalive_until_s, self.deadline_s = self.deadline_s, gate_until_s
        passed = False
        self._gate_wait = _GateWait()
        try:
            refusal = await self._gate_wait.refusal(gate)
            if refusal is None and not self.usable:
                refusal = NotSent("the connection was lost before the request", unreachable=True)
            passed = refusal is None
        finally:
            self._gate_wait = None
            if not passed:
                self.deadline_s = keepalive_until_s
                self.release()
        if refusal is not None:
            return refusal
        reply: asyncio.Future[Outcome] = self._loop.create_future()

        def answered(outcome: Outcome) -> None:
            if not reply.done():
                reply.set_result(outcome)

        self.write(phone_number_id, payload, answered)
        try:
            return await reply
        finally:
            if self._answered is answered:  # cancelled: nobody waits for the reply any more
                self.disconnect("the request was cancelled")

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Keep a head that aiohttp has parsed until its body is complete."""
        if self._connection is None:
            super().feed_data(data, size)
        elif self._message is not None:
            self.force_close()  # this is a second reply to one request
        elif not 100 <= data[0].code < 200 or data[0].code == 101:
            self._message, self._body = data

    def data_received(self, data: bytes) -> None:
        if self._answered is not None and self._between_replies and (body := plain_body(data)) is not None:
            self._complete(outcome_of(200, NO_HEADERS, body))  # the parser is still between replies
        elif self._connection is not None and self._answered is None:
            self.force_close()
            self._break("the service answered before the request")
            self.abort()
        elif self._connection is None and self._owner is not None:
            self.force_close()  # detached: part of an unrequested reply would stay unnoticed in the parser
            self.abort()
        else:
            self.suspect = True
            known_bytes = None if self._body is None else self._body.total_bytes
            super().data_received(data)
            self._between_replies = False
            if self._message is not None and self._body is not None:
                if self._body.is_eof() and not (
                    ends_reply(data, self._message, self._body, known_bytes)
                    or is_between_replies(self._parser)
                ):
                    self.force_close()  # the parser holds more bytes, which would begin the next reply
                self._complete_when_read()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Skip the call if reading is not paused. Each read of a body calls it, and it runs the parser."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self._body is not None and exc is None:
            self._complete_when_read()  # a body without a length ends when the connection closes cleanly
        self._break(error_reason(self.exception() or exc or ConnectionError("connection lost")))

    def _complete_when_read(self) -> None:
        """Complete the exchange if the whole body has arrived."""
        message, body = self._message, self._body
        assert message is not None and body is not None
        if body.total_bytes > BODY_BYTES_MAX or self._reading_paused:
            self._break(f"an HTTP {message.code} reply with more than {BODY_BYTES_MAX} bytes")
            self.abort()
        elif (problem := body.exception()) is not None:
            self._break(
                f"an unreadable HTTP {message.code} reply: {error_reason(problem)}"[:REASON_CHARACTERS_MAX]
            )
            self.abort()
        elif body.is_eof():
            self._message = self._body = None
            self._between_replies = True
            self._complete(outcome_of(message.code, message.headers, body.read_nowait()))

    def _complete(self, outcome: Outcome) -> None:
        """Free the lane of the request in flight, which has its outcome, then call back."""
        answered, self._answered = self._answered, None
        if answered is not None:
            assert self._owner is not None
            self._owner.end_request(self)
            answered(outcome)

    def _break(self, reason: str) -> None:
        """Note that it broke. Cancel a request that waits at the gate. A written one becomes Unknown."""
        self._message = self._body = None
        self.suspect = True
        if self._answered is not None:
            self.force_close()  # otherwise the lane would take the next request
            self._complete(Unknown(reason))
        elif self._gate_wait is not None:
            self._gate_wait.end(reason)


def plain_body(data: bytes) -> bytes | None:
    """Return the body of a plain reply that arrived in one piece. None for any other reply: the parser reads
    those.

    A plain reply matches `_PLAIN_HEAD`: status 200, a Content-Length, no other framing, no content coding.
    The match costs a fifth of the parser's run with its stream and its headers.
    """
    if (found := _PLAIN_HEAD.match(data)) is None or (head := found.end()) > LINE_BYTES_MAX:
        return None
    length = len(data) - head
    return data[head:] if length == int(found[1]) and length <= BODY_BYTES_MAX else None
