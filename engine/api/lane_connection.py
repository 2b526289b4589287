"""One connection of aiohttp's pool that carries one request at a time: a lane.

A lane is aiohttp's own protocol of a connection, with aiohttp's own parser. It leaves out what a session
builds anew for every request: header objects, writer, response, stream and timer. Law: nothing is awaited
between the gate and the one write; what was written without a complete reply is Unknown, what was not
written is NotSent; an answer that nobody asked for ends the connection.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aiohttp.client_proto import ResponseHandler

from engine.api.reply import BODY_BYTES_MAX, outcome_of
from engine.api.transport import Gate
from engine.core.outcome import NotSent, Outcome, Unknown

if TYPE_CHECKING:
    from aiohttp.connector import Connection
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

LINE_BYTES_MAX = 8_190
HEADERS_MAX = 128
# The head of a plain reply: one length, and no header that changes what the body is or how the reply ends.
_TELLING = rb"content-(?:length|encoding)|transfer-|connection|upgrade|trailer"
_OTHER = rb"(?:\r\n(?!" + _TELLING + rb")[a-z0-9-]++:[\x20-\x7e]*+)*+"
_PLAIN = re.compile(
    rb"HTTP/1\.1 200 [\x20-\x7e]*+" + _OTHER + rb"\r\ncontent-length: ?([0-9]{1,6})" + _OTHER, re.IGNORECASE
)
NO_HEADERS: Mapping[str, str] = {}  # of an acceptance nothing but its body is read


class Lane(ResponseHandler):
    """The protocol of a connection. Until `hold`, and after `give_back` or `drop`, it is only aiohttp's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.deadline_s = 0.0  # of the loop's clock: the request's while one is under way, else of keep-alive
        self._connection: Connection | None = None
        self._at_gate: asyncio.Task[object] | None = None
        self._reply: asyncio.Future[Outcome] | None = None
        self._message: RawResponseMessage | None = None
        self._body: StreamReader | None = None
        self._broken: str | None = None
        self._between = True  # the parser is at the beginning of a reply

    @property
    def usable(self) -> bool:
        """Whether a request may be written: connected, in step, and nothing waits to be read."""
        transport = self.transport
        return transport is not None and not transport.is_closing() and not self.should_close

    def hold(self, connection: Connection) -> None:
        """Take the connection from the pool. Its parser serves every reply from now on."""
        self._connection = connection
        self.set_response_params(
            read_until_eof=True,
            read_bufsize=BODY_BYTES_MAX,
            max_line_size=LINE_BYTES_MAX,
            max_field_size=LINE_BYTES_MAX,
            max_headers=HEADERS_MAX,
        )

    def give_back(self) -> None:
        """Return the connection to the pool, which closes it where it is out of step."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.release()

    def drop(self, reason: str) -> None:
        """Close the connection; a request under way ends as a break."""
        self._break(reason)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    async def exchange(self, request: bytes, gate: Gate, reply_s: float) -> Outcome:
        """Ask the gate, write the request at once, and return what its reply says."""
        refusal = await self._pass(gate)
        if refusal is not None:
            return refusal
        self._reply = reply = self._loop.create_future()
        self.deadline_s = min(self.deadline_s, self._loop.time() + reply_s)
        try:
            assert self.transport is not None  # looked at after the gate; nothing was awaited since
            self.transport.write(request)
            outcome: Outcome = await reply
            return outcome
        except Exception as problem:  # a write that fails half-way may have left bytes
            return Unknown(reason_of(problem))
        finally:
            self._reply = None
            if not reply.done() or reply.cancelled():
                self.force_close()  # the caller was cancelled: the reply may come when nobody waits

    async def _pass(self, gate: Gate) -> NotSent | None:
        """None when the gate opened and the connection still stands."""
        self._at_gate = task = asyncio.current_task()
        assert task is not None
        cancelling = task.cancelling()
        try:
            opened = await gate()
        except asyncio.CancelledError:
            if self._broken is not None and task.cancelling() > cancelling:
                task.uncancel()  # the break's own, see `_break`
            if task.cancelling() > cancelling:
                raise
            return NotSent(self._broken or "the gate was cancelled", unreachable=self._broken is not None)
        finally:
            self._at_gate = None
        if not opened:
            return NotSent("permit expired")
        if self._broken is not None or not self.usable:
            return NotSent(self._broken or "the connection was lost before the request", unreachable=True)
        return None

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """aiohttp has parsed a head: keep it until its body is complete."""
        if self._connection is None:
            super().feed_data(data, size)
        elif self._message is not None:
            self.force_close()  # a second reply to one request
        elif not 100 <= data[0].code < 200 or data[0].code == 101:
            self._message, self._body = data

    def data_received(self, data: bytes) -> None:
        if self._connection is not None and self._reply is None:
            self.force_close()
            self._break("the service answered before the request")
            self.abort()
            return
        if self._message is None and self._take_plain(data):
            return
        super().data_received(data)
        self._between = False
        if self._body is not None:
            self._look()

    def _take_plain(self, data: bytes) -> bool:
        """Complete the exchange with a plain reply that came in one piece, without a run of the parser.

        Plain is what `_PLAIN` matches to the last byte: a 200 with a length, no other way to end, no coding.
        The parser has seen nothing of it and still stands between two replies. Whatever is not plain is the
        parser's. Costs a fifth of the parser's run with its stream and its headers.
        """
        head = data.find(b"\r\n\r\n") if self._between else -1
        if head < 0 or head > LINE_BYTES_MAX or (found := _PLAIN.fullmatch(data, 0, head)) is None:
            return False
        body = data[head + 4 :]
        if len(body) != int(found[1]) or len(body) > BODY_BYTES_MAX:
            return False
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(outcome_of(200, NO_HEADERS, body))
        else:
            self.force_close()  # a second reply to one request
        return True

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Every read of a body asks for this; it costs a run of the parser, also where nothing is paused."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self._body is not None:
            self._look()  # a body without a length ends with its connection
        self._break(reason_of(self.exception() or exc or ConnectionError("connection lost")))

    def _look(self) -> None:
        """Complete the exchange when the body is."""
        message, body = self._message, self._body
        assert message is not None and body is not None
        if body.total_bytes > BODY_BYTES_MAX or self._reading_paused:
            self._break(f"HTTP {message.code} with more than {BODY_BYTES_MAX} bytes")
            self.abort()
        elif body.is_eof():
            self._message = self._body = None
            self._between = True
            content = body.read_nowait()
            if self._reply is not None and not self._reply.done():
                self._reply.set_result(outcome_of(message.code, message.headers, content))

    def _break(self, reason: str) -> None:
        """End whatever is under way: at the gate by interrupting it, after the write by a doubt."""
        self._message = self._body = None
        if self._reply is not None:
            if not self._reply.done():
                self._reply.set_result(Unknown(reason))
        elif self._broken is None and self._at_gate is not None:
            self._broken = reason
            self._at_gate.cancel()


def reason_of(problem: BaseException) -> str:
    """What is told to people about a break."""
    return f"{type(problem).__name__}: {problem}".removesuffix(": ")[:200]
