"""Between the wire and the service: the fast path of a send, faults, and the table of everything else."""

import asyncio
from collections.abc import Awaitable
from typing import TypeAlias

import structlog

from emulator.errors import Refused
from emulator.faults.exchange import Exchange, Stage
from emulator.send import Line
from emulator.service import Service
from emulator.site import check_site
from emulator.wire.connection import Connection, Headers, KnownHead
from emulator.wire.message import Reply, Request, StreamReply, render, render_stream, split_target
from emulator.wire.outcome import Ending, Outcome
from emulator.wire.router import Router

log = structlog.get_logger("emulator")

# More than a client at 10,000/s and a latency of a second opens.
CONNECTION_LIMIT = 20_000
# Bodies: JSON is small; an upload may be a document of 100 MB with its form around it.
BODY_LIMIT_BYTES = 1024 * 1024
UPLOAD_LIMIT_BYTES = 101 * 1024 * 1024
CONTROL_PLANE = "/_emulator/"

Answer: TypeAlias = Reply | StreamReply


class Gateway:
    """The port that connections talk to; see `emulator.wire.connection.Gateway`."""

    def __init__(self, service: Service, router: Router) -> None:
        self.connections: set[Connection] = set()
        self.emptied = asyncio.Event()
        self.emptied.set()
        self.connection_limit = CONNECTION_LIMIT
        self.tick = 0
        self.heads: dict[bytes, KnownHead] = {}
        self.service = service
        self._router = router
        self._tasks: set[asyncio.Task[None]] = set()

    def joined(self, connection: Connection) -> None:
        """A connection was made; one too many is ended at once."""
        self.connections.add(connection)
        if len(self.connections) > self.connection_limit:
            connection.abort()
        self.emptied.clear()

    def left(self, connection: Connection) -> None:
        """A connection is gone."""
        self.connections.discard(connection)
        if not self.connections:
            self.emptied.set()

    def quick(self, target: bytes, headers: Headers, body: bytes) -> bytes | None:
        """A send, when no fault may strike; see the port."""
        line = self.service.lines.get(target)
        if line is None or self.service.faults.of_exchange:
            return None
        try:
            return line.answer(headers.get(b"authorization"), body)
        except Exception:
            return render(self._unforeseen())

    def admit(self, method: bytes, target: bytes) -> int | Ending:
        """The body's limit, or the end that a fault makes before the body is read."""
        faults = self.service.faults
        if faults.of_exchange and method == b"POST" and (line := self.service.lines.get(target)):
            exchange = Exchange(line.number.id)
            faults.meet(Stage.READ, exchange)
            if exchange.ending is not Ending.KEEP:
                return exchange.ending
        return UPLOAD_LIMIT_BYTES if target.endswith((b"/media", b"/restore")) else BODY_LIMIT_BYTES

    def handle(self, method: bytes, target: bytes, headers: Headers, body: bytes, outcome: Outcome) -> None:
        """Answer through `outcome`. What nobody foresaw becomes error 1 and a log line, never a traceback."""
        try:
            line = self.service.lines.get(target) if method == b"POST" else None
            if method == b"HEAD":
                # A reply to HEAD has no body, so it could not carry the documented error either.
                allow = (("Allow", "DELETE, GET, POST"),)
                self._finish(outcome, Reply(405, b"", headers=allow))
            elif line is not None:
                self._send(line, headers, body, outcome)
            else:
                self._route(method, target, headers, body, outcome)
        except Refused as refused:
            self._finish(outcome, self.service.refusal(refused))
        except Exception:
            self._finish(outcome, self._unforeseen())

    def refusal(self, status: int, details: str) -> bytes:
        """See the port."""
        return render(self.service.refusal(Refused(100, details, status)), closing=True)

    # --- sends that faults may meet

    def _send(self, line: Line, headers: Headers, body: bytes, outcome: Outcome) -> None:
        faults = self.service.faults
        exchange = Exchange(line.number.id)
        faults.meet(Stage.ACCEPT, exchange)
        if exchange.quality is not None:
            self.service.set_quality(line.number, exchange.quality)
        if exchange.refused is not None:
            line.number.errors[exchange.refused.code] += 1
            exchange.reply = self.service.refused(exchange.refused)
        if exchange.reply is None:
            exchange.reply = line.answer(headers.get(b"authorization"), body)
            if exchange.reply.startswith(b"HTTP/1.1 200"):
                faults.meet(Stage.REPLY, exchange)
        faults.meet(Stage.ANSWER, exchange)
        if exchange.delay_s:
            asyncio.get_running_loop().call_later(exchange.delay_s, _answer, outcome, exchange)
        else:
            _answer(outcome, exchange)

    # --- everything else

    def _route(self, method: bytes, target: bytes, headers: Headers, body: bytes, outcome: Outcome) -> None:
        request = self._request(method, target, headers, body)
        if request.path.startswith(CONTROL_PLANE):
            check_site(headers, self.service.config.host)
        found = self._router.find(request)
        if found is None:
            raise self._unknown(request)
        handler, request = found
        answer = handler(request)
        if isinstance(answer, Awaitable):
            task = asyncio.ensure_future(self._finish_later(answer, outcome))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._finish(outcome, answer)

    async def _finish_later(self, answer: Awaitable[Answer], outcome: Outcome) -> None:
        try:
            self._finish(outcome, await answer)
        except Refused as refused:
            self._finish(outcome, self.service.refusal(refused))
        except Exception:
            self._finish(outcome, self._unforeseen())

    def _unforeseen(self) -> Reply:
        """Called while an exception is handled: the log gets the traceback, the client an error."""
        log.exception("emulator.unexpected")
        return self.service.refusal(Refused(1, "the emulator has a fault of its own"))

    def _finish(self, outcome: Outcome, answer: Answer) -> None:
        if isinstance(answer, StreamReply):
            outcome.finish_in_chunks(render_stream(answer, closing=outcome.last), 0.0)
        else:
            outcome.finish(render(answer, closing=outcome.last))

    def _request(self, method: bytes, target: bytes, headers: Headers, body: bytes) -> Request:
        try:
            path, query = split_target(target)
            return Request(method.decode("ascii"), path, query, headers, body)
        except ValueError:
            raise Refused(100, "the path or the query is not readable") from None

    def _unknown(self, request: Request) -> Refused:
        version = self.service.config.version
        first, _, rest = request.path.lstrip("/").partition("/")
        if first != version and first[:1] == "v" and first[1:2].isdigit():
            return Refused(2635, f"this service speaks {version}, not {first}")
        methods = self._router.methods(request.path)
        if methods:
            return _not_served(request.method, methods)
        return Refused(100, f"unknown path components: /{rest or first}", 404)


def _not_served(method: str, methods: list[str]) -> Refused:
    refused = Refused(100, f"{method} is not served here; {', '.join(methods)} is", 405)
    refused.headers = (("Allow", ", ".join(methods)),)
    return refused


def _answer(outcome: Outcome, exchange: Exchange) -> None:
    reply = exchange.reply or b""
    step = exchange.chunk_bytes
    if step:
        pieces = [reply[begin : begin + step] for begin in range(0, len(reply), step)]
        outcome.finish_in_chunks(pieces, exchange.pause_s, exchange.ending)
    else:
        outcome.finish(reply, exchange.ending)
