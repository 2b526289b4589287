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
from typing import TYPE_CHECKING, Protocol

from aiohttp.client_proto import ResponseHandler

from engine.api.breaks import REASON_CHARACTERS_MAX, reason_of
from engine.api.parsing import ends_reply, stands_between
from engine.api.reply import BODY_BYTES_MAX, outcome_of
from engine.api.transport import Answered, Gate
from engine.core.outcome import NotSent, Outcome, Unknown

if TYPE_CHECKING:
    from aiohttp.connector import Connection
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

LINE_BYTES_MAX = 8_190
HEADERS_MAX = 128
# The head of a plain reply: one length, and no header that changes what the body is or how the reply ends.
# First letters are spelled out: to match all of it without case takes twice the time.
_TELLING = rb"[Cc](?i:ontent-(?:length|encoding)|onnection)|[Tt](?i:ransfer-|railer)|[Uu](?i:pgrade)"
# The group has one way to match and need not be possessive: in CPython 3.11.2 it would match nothing then.
_OTHER = rb"(?:\r\n(?!" + _TELLING + rb")[A-Za-z0-9-]++:[ -~]*+){0,%d}" % ((HEADERS_MAX - 1) // 2)
_LENGTH = rb"\r\n[Cc](?i:ontent-length): ?([0-9]{1,6})"
_PLAIN = re.compile(rb"HTTP/1\.1 200 [ -~]*+" + _OTHER + _LENGTH + _OTHER + rb"\r\n\r\n")
NO_HEADERS: Mapping[str, str] = {}  # of an acceptance nothing but its body is read


class Pool(Protocol):
    """Who keeps the lanes."""

    def begin(self, lane: Lane, phone_number_id: str, payload: bytes) -> bytes:
        """The bytes of a whole request, which is written to the lane now."""
        ...

    def free(self, lane: Lane) -> None:
        """An exchange on the lane has ended."""
        ...

    def put_back(self, lane: Lane) -> None:
        """Nothing was written to the lane: its keep-alive goes on where it was."""
        ...


class Lane(ResponseHandler):
    """The protocol of a connection. Until `hold`, and after `give_back` or `drop`, it is only aiohttp's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.deadline_s = 0.0  # of the loop's clock: the request's while one is under way, else of keep-alive
        self._connection: Connection | None = None
        self._pool: Pool | None = None
        self._at_gate: asyncio.Task[object] | None = None
        self._answered: Answered | None = None  # of the request under way
        self._message: RawResponseMessage | None = None
        self._body: StreamReader | None = None
        self._broken: str | None = None
        self._between = True  # the parser is at the beginning of a reply
        self.suspect = False  # there was more than plain replies: the connection may have ended

    @property
    def usable(self) -> bool:
        """Whether a request may be written: connected, in step, and nothing waits to be read."""
        transport = self.transport
        return transport is not None and not transport.is_closing() and not self.should_close

    def hold(self, connection: Connection, pool: Pool) -> None:
        """Take the connection from aiohttp's pool. Its parser serves every reply from now on."""
        self._connection = connection
        self._pool = pool
        if self.transport is not None and self.transport.get_extra_info("sslcontext") is None:
            # uvloop would keep the bytes until its turn ends, and the pace is judged by when they leave.
            self.transport.set_write_buffer_limits(high=0)
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

    def write(self, phone_number_id: str, payload: bytes, answered: Answered) -> None:
        """See `engine.api.transport.Connection`: nothing was awaited since the lane was found usable."""
        assert self.transport is not None and self._pool is not None
        self._answered = answered
        try:
            self.transport.write(self._pool.begin(self, phone_number_id, payload))
        except Exception as problem:  # a write that fails half-way may have left bytes
            self._loop.call_soon(self._break, reason_of(problem))

    def put_back(self) -> None:
        assert self._pool is not None
        self._pool.put_back(self)

    async def exchange(
        self, phone_number_id: str, payload: bytes, gate: Gate, gate_until_s: float
    ) -> Outcome:
        """Ask the gate, write the request at once, and return what its reply says."""
        kept_until_s, self.deadline_s = self.deadline_s, gate_until_s
        try:
            refusal = await self._pass(gate)
        except BaseException:
            self._put_back_until(kept_until_s)
            raise
        if refusal is not None:
            self._put_back_until(kept_until_s)
            return refusal
        reply: asyncio.Future[Outcome] = self._loop.create_future()

        def answered(outcome: Outcome) -> None:
            if not reply.done():
                reply.set_result(outcome)

        self.write(phone_number_id, payload, answered)
        try:
            return await reply
        finally:
            if self._answered is answered:  # cancelled: the reply would come when nobody waits
                self.drop("the request was cancelled")

    def _put_back_until(self, kept_until_s: float) -> None:
        self.deadline_s = kept_until_s
        self.put_back()

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
            return NotSent("claim expired")
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
        if self._answered is not None and self._between and (body := plain_body(data)) is not None:
            self._complete(outcome_of(200, NO_HEADERS, body))  # the parser still stands between two replies
        elif self._connection is not None and self._answered is None:
            self.force_close()
            self._break("the service answered before the request")
            self.abort()
        elif self._connection is None and self._pool is not None:
            self.force_close()  # given back: half an answer to nothing would go down in the parser
            self.abort()
        else:
            self.suspect = True
            known_bytes = None if self._body is None else self._body.total_bytes
            super().data_received(data)
            self._between = False
            if self._message is not None and self._body is not None:
                if self._body.is_eof() and not (
                    ends_reply(data, self._message, self._body, known_bytes) or stands_between(self._parser)
                ):
                    self.force_close()  # what more the parser holds would begin the next reply
                self._look()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """Every read of a body asks for this; it costs a run of the parser, also where nothing is paused."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self._body is not None and exc is None:
            self._look()  # a body without a length ends with its connection, unless that broke
        self._break(reason_of(self.exception() or exc or ConnectionError("connection lost")))

    def _look(self) -> None:
        """Complete the exchange when the body is."""
        message, body = self._message, self._body
        assert message is not None and body is not None
        if body.total_bytes > BODY_BYTES_MAX or self._reading_paused:
            self._break(f"HTTP {message.code} with more than {BODY_BYTES_MAX} bytes")
            self.abort()
        elif (problem := body.exception()) is not None:
            self._break(
                f"HTTP {message.code} that cannot be read: {reason_of(problem)}"[:REASON_CHARACTERS_MAX]
            )
            self.abort()
        elif body.is_eof():
            self._message = self._body = None
            self._between = True
            self._complete(outcome_of(message.code, message.headers, body.read_nowait()))

    def _complete(self, outcome: Outcome) -> None:
        """The request under way has its outcome: the lane is free, then its writer is told."""
        answered, self._answered = self._answered, None
        if answered is not None:
            assert self._pool is not None
            self._pool.free(self)
            answered(outcome)

    def _break(self, reason: str) -> None:
        """End whatever is under way: at the gate by interrupting it, after the write by a doubt."""
        self._message = self._body = None
        self.suspect = True
        if self._answered is not None:
            self.force_close()  # or the lane would be free for the next request
            self._complete(Unknown(reason))
        elif self._broken is None and self._at_gate is not None:
            self._broken = reason
            self._at_gate.cancel()


def plain_body(data: bytes) -> bytes | None:
    """The body of a plain reply that came in one piece; None for whatever else the parser has to read.

    Plain is what `_PLAIN` matches: a 200 with a length, no other way to end, no coding. Costs a fifth of the
    parser's run with its stream and its headers.
    """
    if (found := _PLAIN.match(data)) is None or (head := found.end()) > LINE_BYTES_MAX:
        return None
    length = len(data) - head
    return data[head:] if length == int(found[1]) and length <= BODY_BYTES_MAX else None
