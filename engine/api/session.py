"""The transport over aiohttp's ClientSession: pool, TLS and HTTP are aiohttp's, the moment of writing ours.

Law: what was written without a complete reply is Unknown, what was not written is NotSent. The body of the
request knows which: it is an aiohttp payload that awaits the gate in the middle of being written, when the
connection is in hand and even the headers are still in aiohttp's buffer, and goes out with them in one write.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.client_proto import ResponseHandler
from aiohttp.payload import BytesPayload

from engine.api.breaks import cancelled_by_pool, not_sent, reason_of
from engine.api.parsing import stands_between
from engine.api.proxy import proxy_of
from engine.api.reply import BODY_BYTES_MAX, outcome_of
from engine.api.transport import (
    API_VERSION,
    CONNECT_S_MAX,
    CONNECTIONS,
    DNS_CACHE_S,
    KEEPALIVE_S,
    REPLY_S_MAX,
    TOTAL_S_MAX,
    Gate,
)
from engine.core.outcome import NotSent, Outcome, Unknown

if TYPE_CHECKING:
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader


class SessionTransport:
    """Sends through one pool of connections. Close it when done; `send` after that is NotSent."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        api_version: str = API_VERSION,
        connections: int = CONNECTIONS,
        keepalive_s: float = KEEPALIVE_S,
        connect_s: float = CONNECT_S_MAX,
        reply_s: float = REPLY_S_MAX,
        total_s: float = TOTAL_S_MAX,
        tls: ssl.SSLContext | None = None,
        proxy: str | None = None,
    ) -> None:
        """Needs a running loop. `connections` bounds the open requests; `tls` replaces the default trust;
        `proxy` is the URL of an HTTP proxy, with user and password where it wants them.
        """
        self._root = f"{base_url.rstrip('/')}/{api_version}"
        self._proxy = proxy_of(proxy, base_url)
        # Of each request: what the session has for all of them, aiohttp shows the proxy, too.
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",
            **self._proxy.request_headers,
        }
        self._total_s, self._written_s = total_s, min(reply_s, total_s)
        connector = aiohttp.TCPConnector(
            limit=connections,
            keepalive_timeout=keepalive_s,
            ttl_dns_cache=DNS_CACHE_S,
            ssl=tls if tls is not None else True,
        )
        connector._factory = functools.partial(_new_listener, asyncio.get_running_loop())
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, connect=connect_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            raise_for_status=False,
            proxy=self._proxy.url,
        )

    async def send(self, phone_number_id: str, payload: bytes, gate: Gate) -> Outcome:
        """See `Transport.send`."""
        limit = asyncio.timeout(self._total_s)
        body = _GatedBody(payload, gate, lambda: self._await_reply(limit))
        try:
            async with limit:
                outcome = await self._exchange(phone_number_id, body)
        except asyncio.CancelledError as problem:
            if not cancelled_by_pool(self._session.closed):
                raise
            outcome = _outcome_of_break(body, problem)
        except Exception as problem:  # whatever it is, the recipient needs an outcome, not a traceback
            outcome = _outcome_of_break(body, problem)
        finally:
            body.abandon()
        if body.gate_error is not None:
            raise body.gate_error
        return outcome

    def free_connection(self) -> None:
        """A session keeps its connections to itself."""

    async def close(self) -> None:
        """Close every connection; open requests end as breaks."""
        await self._session.close()

    def _await_reply(self, limit: asyncio.Timeout) -> None:
        limit.reschedule(asyncio.get_running_loop().time() + self._written_s)

    async def _exchange(self, phone_number_id: str, body: _GatedBody) -> Outcome:
        url = f"{self._root}/{phone_number_id}/messages"
        async with self._session.post(
            url,
            data=body,
            headers=self._headers,
            allow_redirects=False,
            proxy_headers=self._proxy.tunnel_headers,
        ) as response:
            if not body.written:  # an answer to nothing: the connection is out of step
                response.close()
                return NotSent("the service answered before the request", unreachable=True)
            content = await read_bounded(response, BODY_BYTES_MAX)
            if content is None:
                response.close()
                return Unknown(f"HTTP {response.status} with more than {BODY_BYTES_MAX} bytes")
            return outcome_of(response.status, response.headers, content)


class _Stage(Enum):
    WAITING = auto()
    REFUSED = auto()
    WRITTEN = auto()
    ABANDONED = auto()


class _NotWritten(Exception):
    """Leaves aiohttp's writer without a byte on the wire."""


class _GatedBody(BytesPayload):
    """A request body that goes out, headers and all, when its gate opens, and remembers whether it did."""

    def __init__(self, payload: bytes, gate: Gate, writing: Callable[[], None]) -> None:
        """`writing` is called before the write, and may raise to prevent it."""
        super().__init__(payload, content_type="application/json")
        self._gate = gate
        self._writing = writing
        self._stage = _Stage.WAITING
        self.gate_error: BaseException | None = None

    @property
    def written(self) -> bool:
        return self._stage is _Stage.WRITTEN

    @property
    def refused(self) -> bool:
        return self._stage is _Stage.REFUSED

    def abandon(self) -> None:
        """From now on nothing is written that is not written yet."""
        if self._stage is _Stage.WAITING:
            self._stage = _Stage.ABANDONED

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        protocol = getattr(writer, "protocol", None)
        listener = protocol if isinstance(protocol, _Listener) else None
        if listener is not None and not listener.hold():
            raise _NotWritten("the service answered before the request")
        await self._pass_gate()
        transport = writer.transport
        # A protocol that should close has an answer to nothing in its buffer, or a broken reader.
        if transport is None or transport.is_closing() or getattr(protocol, "should_close", False):
            raise _NotWritten("the connection was lost before the request")
        self._writing()
        if listener is not None:
            listener.ask()
        self._stage = _Stage.WRITTEN  # before the call: a write that fails half-way may have left bytes
        await super().write_with_length(writer, content_length)

    async def _pass_gate(self) -> None:
        try:
            opened = self._stage is _Stage.WAITING and await self._gate()
        except Exception as error:
            self.gate_error = error
            raise
        if self._stage is not _Stage.WAITING:
            raise _NotWritten("the request was given up")
        if not opened:
            self._stage = _Stage.REFUSED
            raise _NotWritten("claim expired")


def _new_listener(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return _Listener(loop)


class _Listener(ResponseHandler):
    """aiohttp's connection, which knows whether a request waits for its reply: what comes unasked ends it.

    aiohttp begins each request with a new parser, in which the rest of an answer to nothing can pass for the
    reply. Should a new aiohttp build other connections, the session works on without this.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._held = False  # a request of ours has come to it; until then it may talk to a proxy for aiohttp
        self._asked = False  # a request was written whose reply is not complete
        self._body: StreamReader | None = None
        self._unasked = False

    def hold(self) -> bool:
        """Whether a request may wait for its gate here. If not it is NotSent; lanes look for another once."""
        self._held = True
        return not self._unasked

    def ask(self) -> None:
        self._asked = True

    def data_received(self, data: bytes) -> None:
        asked = self._asked
        if data and not asked:
            self._refuse()
        super().data_received(data)
        if asked and not self._asked and not stands_between(self._parser):
            self._refuse()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        message, body = data
        if not 100 <= message.code < 200 or message.code == 101:
            if not self._asked:
                self._refuse()
            self._body = body
            body.on_eof(self._answered)
        super().feed_data(data, size)

    def connection_lost(self, exc: BaseException | None) -> None:
        if exc is not None and self._body is not None and not self._body.is_eof():
            self._body.set_exception(exc)  # or it would pass for a body that ends with its connection
        super().connection_lost(exc)

    def _answered(self) -> None:
        self._asked = False

    def _refuse(self) -> None:
        self._unasked = True
        if self._held:
            self.force_close()
            self.abort()


async def read_bounded(response: aiohttp.ClientResponse, most_bytes: int) -> bytes | None:
    """The whole body, or None where it is longer."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > most_bytes:
            return None
        chunks.append(chunk)
    return b"".join(chunks)


def _outcome_of_break(body: _GatedBody, problem: BaseException) -> Outcome:
    if body.refused:
        return NotSent("claim expired")
    return Unknown(reason_of(problem)) if body.written else not_sent(problem)
