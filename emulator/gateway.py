"""The gateway between HTTP and the service: the fast path of a send, faults, and the table of everything
else.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeAlias

import structlog

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.faults.exchange import Exchange, ExchangeStage
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.send import SendEndpoint
from drumbeat.emulator.site import check_site
from drumbeat.emulator.wire.connection import KnownHead
from drumbeat.emulator.wire.request_reply import (
    Reply,
    Request,
    StreamReply,
    render,
    render_stream,
    split_target,
)
from drumbeat.emulator.wire.router import Router
from drumbeat.http_server.limits import Limits
from drumbeat.http_server.parser import RawRequest
from drumbeat.http_server.replies import Ending, ReplySlot

log = structlog.get_logger("emulator")

# JSON is small; an upload may be a document of 100 MB with its form around it.
JSON_LIMIT_BYTES = 1024 * 1024
UPLOAD_LIMIT_BYTES = 101 * 1024 * 1024
LIMITS = Limits(
    body_bytes=UPLOAD_LIMIT_BYTES,
    usual_body_bytes=JSON_LIMIT_BYTES,
    large_bodies=20,
    waiting_bytes=20 * UPLOAD_LIMIT_BYTES,
    head_bytes=32 * 1024,  # clients of this service stay far below
    headers=1_000,
    url_bytes=32 * 1024,
    request_s=30.0,
    idle_s=90.0,
    pipelined=128,
    connections=20_000,  # more than a client at 10,000/s opens when replies take a second
)
_REFUSALS = {
    400: "this is not a request of HTTP/1.1, or it asks for an upgrade",
    408: f"a request must arrive within {LIMITS.request_s:g} s",
    413: f"the body may have {JSON_LIMIT_BYTES} bytes, that of an upload {UPLOAD_LIMIT_BYTES}",
    414: f"the target of a request may take {LIMITS.url_bytes} bytes",
    431: f"request endpoint and headers may take {LIMITS.head_bytes} bytes",
    503: "too many large uploads at the same time; try again later",
}
CONTROL_PLANE = "/_emulator/"

AnyReply: TypeAlias = Reply | StreamReply


class Gateway:
    """The application of the emulator's HTTP server; see `emulator.wire.connection.SendGateway`."""

    def __init__(self, service: MessagingService, router: Router) -> None:
        self.known_heads: dict[bytes, KnownHead] = {}
        self.service = service
        self._router = router
        self._tasks: set[asyncio.Task[None]] = set()

    def is_send(self, target: bytes) -> bool:
        """Return whether a request is a send; see the port."""
        return target in self.service.send_endpoints

    def send(self, target: bytes, authorization: bytes | None, body: bytes) -> bytes | None:
        """Answer a send; see the port. An error that nobody expected becomes error 1, as in `handle`."""
        endpoint = self.service.send_endpoints.get(target)
        if endpoint is None or self.service.faults.of_exchange:
            return None
        try:
            return endpoint.answer(authorization, body)
        except Exception:
            return render(self._unexpected())

    def admit(self, method: bytes, target: bytes) -> int | Ending:
        """Admit a request at the end of its head; see the port."""
        faults = self.service.faults
        if faults.of_exchange and method == b"POST" and (endpoint := self.service.send_endpoints.get(target)):
            exchange = Exchange(endpoint.number.id)
            faults.apply(ExchangeStage.READ, exchange)
            if exchange.ending is not Ending.KEEP:
                return exchange.ending
        return UPLOAD_LIMIT_BYTES if target.endswith((b"/media", b"/restore")) else JSON_LIMIT_BYTES

    def handle(self, request: RawRequest, slot: ReplySlot) -> None:
        """Answer a request; see `Application`. An error that nobody expected becomes error 1 and a
        log event.
        """
        try:
            if (
                request.method == b"POST"
                and (endpoint := self.service.send_endpoints.get(request.target)) is not None
            ):
                self._send(endpoint, request, slot)
            elif request.method == b"HEAD":
                # A reply to HEAD has no body, so it cannot carry the documented error.
                self._finish(slot, Reply(405, b"", headers=(("Allow", "DELETE, GET, POST"),)))
            else:
                self._route(request, slot)
        except Refused as refused:
            self._finish(slot, self.service.refusals.reply(refused))
        except Exception:
            self._finish(slot, self._unexpected())

    def refusal(self, status: int) -> bytes:
        """Return a refusal; see `Application`."""
        return render(self.service.refusals.reply(Refused(100, _REFUSALS[status], status)), closing=True)

    # --- sends that faults may meet

    def _send(self, endpoint: SendEndpoint, request: RawRequest, slot: ReplySlot) -> None:
        faults, authorization = self.service.faults, request.headers.get(b"authorization")
        if not faults.of_exchange:
            slot.finish(endpoint.answer(authorization, request.body))
            return
        exchange = Exchange(endpoint.number.id)
        faults.apply(ExchangeStage.ACCEPT, exchange)
        if exchange.quality is not None:
            self.service.standing.set_quality(endpoint.number, exchange.quality)
        if exchange.refused is not None:
            endpoint.number.errors[exchange.refused.code] += 1
            exchange.reply = self.service.refusals.render(exchange.refused)
        if exchange.reply is None:
            accepted = len(self.service.ledger)
            exchange.reply = endpoint.answer(authorization, request.body, exchange.fails_with)
            if exchange.happenings and len(self.service.ledger) > accepted:
                self.service.let_happen(exchange.happenings, accepted)
            if exchange.reply.startswith(b"HTTP/1.1 200"):
                faults.apply(ExchangeStage.REPLY, exchange)
        faults.apply(ExchangeStage.ANSWER, exchange)
        if exchange.delay_s:
            asyncio.get_running_loop().call_later(exchange.delay_s, _answer, slot, exchange)
        else:
            _answer(slot, exchange)

    # --- everything else

    def _route(self, raw: RawRequest, slot: ReplySlot) -> None:
        request = _decode(raw)
        if request.path.startswith(CONTROL_PLANE):
            check_site(raw.headers, self.service.config.host)
        found = self._router.find(request)
        if found is None:
            raise self._unknown(request)
        handler, request = found
        answer = handler(request)
        if isinstance(answer, Awaitable):
            task = asyncio.ensure_future(self._finish_later(answer, slot))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._finish(slot, answer)

    async def _finish_later(self, answer: Awaitable[AnyReply], slot: ReplySlot) -> None:
        try:
            self._finish(slot, await answer)
        except Refused as refused:
            self._finish(slot, self.service.refusals.reply(refused))
        except Exception:
            self._finish(slot, self._unexpected())

    def _unexpected(self) -> Reply:
        """Return the reply to an error that nobody expected. Called while the exception is handled: the log
        gets the traceback, the client an error.
        """
        log.exception("emulator_failed")
        return self.service.refusals.reply(Refused(1, "the emulator itself failed; its log has the reason"))

    def _finish(self, slot: ReplySlot, reply: AnyReply) -> None:
        if isinstance(reply, StreamReply):
            slot.finish_in_chunks(render_stream(reply, closing=slot.last), 0.0)
        else:
            slot.finish(render(reply, closing=slot.last))

    def _unknown(self, request: Request) -> Refused:
        version = self.service.config.version
        first, _, rest = request.path.lstrip("/").partition("/")
        if first != version and first[:1] == "v" and first[1:2].isdigit():
            return Refused(2635, f"this service speaks {version}, not {first}")
        methods = self._router.methods(request.path)
        if methods:
            return _not_served(request.method, methods)
        return Refused(100, f"unknown path components: /{rest or first}", 404)


def _decode(raw: RawRequest) -> Request:
    try:
        path, query = split_target(raw.target)
        return Request(raw.method.decode("ascii"), path, query, raw.headers, raw.body)
    except ValueError:
        raise Refused(100, "the path or the query is not readable") from None


def _not_served(method: str, methods: list[str]) -> Refused:
    refused = Refused(100, f"{method} is not served here; {', '.join(methods)} is", 405)
    refused.headers = (("Allow", ", ".join(methods)),)
    return refused


def _answer(slot: ReplySlot, exchange: Exchange) -> None:
    reply = exchange.reply or b""
    step = exchange.chunk_bytes
    if step:
        pieces = [reply[begin : begin + step] for begin in range(0, len(reply), step)]
        slot.finish_in_chunks(pieces, exchange.pause_s, exchange.ending)
    else:
        slot.finish(reply, exchange.ending)
