"""The transport over aiohttp's ClientSession: pool, TLS and HTTP are aiohttp's, the moment of writing ours.

Law: what was written without a complete reply is Unknown, what was not written is NotSent. The body of the
request knows which: it is an aiohttp payload that awaits the gate in the middle of being written, when the
connection is in hand and even the headers are still in aiohttp's buffer, and goes out with them in one write.
"""

from __future__ import annotations

import ssl
from enum import Enum, auto

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import BytesPayload

from engine.api.breaks import not_sent, reason_of
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
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=connections,
                keepalive_timeout=keepalive_s,
                ttl_dns_cache=DNS_CACHE_S,
                ssl=tls if tls is not None else True,
            ),
            timeout=aiohttp.ClientTimeout(total=total_s, connect=connect_s, sock_read=reply_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            raise_for_status=False,
            proxy=self._proxy.url,
        )

    async def send(self, phone_number_id: str, payload: bytes, gate: Gate) -> Outcome:
        """See `Transport.send`."""
        body = _GatedBody(payload, gate)
        try:
            outcome = await self._exchange(phone_number_id, body)
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

    def __init__(self, payload: bytes, gate: Gate) -> None:
        super().__init__(payload, content_type="application/json")
        self._gate = gate
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
        await self._pass_gate()
        transport, protocol = writer.transport, getattr(writer, "protocol", None)
        # A protocol that should close has an answer to nothing in its buffer, or a broken reader.
        if transport is None or transport.is_closing() or getattr(protocol, "should_close", False):
            raise _NotWritten("the connection was lost before the request")
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
            raise _NotWritten("permit expired")


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


def _outcome_of_break(body: _GatedBody, problem: Exception) -> Outcome:
    if body.refused:
        return NotSent("permit expired")
    return Unknown(reason_of(problem)) if body.written else not_sent(problem)
