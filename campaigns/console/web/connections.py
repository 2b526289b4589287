"""The bounds of connections: how many there are, how many of an address, and how long each keeps us waiting.

Law: whoever sends slowly, or not at all, keeps nobody else out. If there are too many connections, the oldest
of those that keep us waiting is closed, first of the address that has most.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import cast

from aiohttp import web

from drumbeat.campaigns.console.web.context import Handler
from drumbeat.campaigns.console.web.request_limits import network_of
from drumbeat.engine.process.file_descriptors import raise_limit

CONNECTIONS_MAX = 1_000  # each costs a socket and some memory; a browser has up to six
ADDRESS_SHARE = 4  # an address may have a fourth of them: an office may share one
DESCRIPTORS_SHARE = 2  # the other half is for the database, files and health checks
HEAD_S_MAX = 15.0  # for the head of a request; browsers send it at once
BODY_S_MAX = 20.0  # for a body, and a second more for each BODY_BYTES_PER_S_MIN of it
BODY_BYTES_PER_S_MIN = 4_096  # a modem of 1996 is as fast
STALL_S_MAX = 60.0  # without a byte of a reply being taken
IDLE_S_MAX = 75.0  # between requests; most proxies give up after 60 s, and should be the first
SWEEP_S = 1.0

TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Connection(asyncio.Protocol):
    """A connection. It passes everything on to the protocol that serves it, and notes what it waits for."""

    def __init__(self, inner: asyncio.Protocol, others: Connections) -> None:
        self._inner = inner
        self._others = others
        self._transport: asyncio.Transport | None = None
        self._request: web.Request | None = None
        self._received = 0  # bytes since the request began
        self._body_s = 0.0  # seconds of waiting for its body
        self._head_since_s: float | None = None
        self._stalled_since_s: float | None = None
        self.began_s = 0.0
        self.peer = ""
        self.address = ""  # the network that it counts for

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.began_s = self._head_since_s = time.monotonic()
        peer = transport.get_extra_info("peername")
        self.peer = str(peer[0]) if peer else ""
        self.address = network_of(self.peer)
        self._inner.connection_made(transport)
        self._others.add(self, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        assert self._transport is not None
        self._others.remove(self, self._transport)
        self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        if self._request is None and self._head_since_s is None:
            self._head_since_s = time.monotonic()
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._stalled_since_s = time.monotonic()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._stalled_since_s = None
        self._inner.resume_writing()

    def begin(self, request: web.Request) -> None:
        """Note that the head of a request has arrived."""
        self._request, self._head_since_s = request, None
        self._received, self._body_s = 0, 0.0

    def end(self) -> None:
        """Note that the request is answered."""
        self._request = None

    @property
    def keeps_waiting(self) -> bool:
        """Return whether it is the client's turn: to send a request, or the rest of one."""
        return self._request is None or not self._request.content.is_eof()

    def sweep(self, now_s: float) -> None:
        """Close the connection if it takes too long."""
        assert self._transport is not None
        if self._head_since_s is not None and now_s - self._head_since_s > HEAD_S_MAX:
            self._transport.write(TOO_SLOW)
            self.cut()
        elif self._stalled_since_s is not None and now_s - self._stalled_since_s > STALL_S_MAX:
            self.cut()
        elif self._request is not None and self.keeps_waiting and self._transport.is_reading():
            self._body_s += SWEEP_S  # while we do not read, the client is not to blame
            if self._body_s > BODY_S_MAX + self._received / BODY_BYTES_PER_S_MIN:
                self.cut()

    def cut(self) -> None:
        assert self._transport is not None
        self._others.remove(self, self._transport)  # now: the loop tells of the loss only later
        self._transport.abort()


class Connections:
    """The connections of a console. `make` makes the protocol that serves one. `is_proxy`: whether an
    address is a proxy's, which has the connections of many. `most`: how many there may be.
    """

    def __init__(
        self, make: Callable[[], asyncio.Protocol], is_proxy: Callable[[str], bool], most: int | None = None
    ) -> None:
        self._make = make
        self._is_proxy = is_proxy
        self._most = most or min(CONNECTIONS_MAX, raise_limit() // DESCRIPTORS_SHARE)
        self._open: dict[asyncio.BaseTransport, Connection] = {}
        self._by_address: Counter[str] = Counter()

    def connect(self) -> Connection:
        """Return the protocol of a new connection."""
        return Connection(self._make(), self)

    def add(self, new: Connection, transport: asyncio.BaseTransport) -> None:
        """Count a connection. If there are too many, close one."""
        self._open[transport] = new
        self._by_address[new.address] += 1
        is_own = not self._is_proxy(new.peer)
        if is_own and self._by_address[new.address] > max(1, self._most // ADDRESS_SHARE):
            self._close_one(new, [each for each in self._open.values() if each.address == new.address])
        elif len(self._open) > self._most:
            self._close_one(new, list(self._open.values()))

    def _close_one(self, new: Connection, among: list[Connection]) -> None:
        waiting = [each for each in among if each is not new and each.keeps_waiting]
        victim = max(waiting, key=lambda each: (self._by_address[each.address], -each.began_s), default=new)
        victim.cut()

    def remove(self, gone: Connection, transport: asyncio.BaseTransport) -> None:
        if self._open.pop(transport, None) is None:
            return
        self._by_address[gone.address] -= 1
        if not self._by_address[gone.address]:
            del self._by_address[gone.address]

    def of(self, request: web.Request) -> Connection | None:
        """Return the connection of a request, or None if it is gone."""
        return None if request.transport is None else self._open.get(request.transport)

    def close_waiting(self) -> None:
        """Close the connections that keep us waiting, when the console ends."""
        for each in list(self._open.values()):
            if each.keeps_waiting:
                each.cut()

    def __len__(self) -> int:
        return len(self._open)

    async def sweep(self) -> None:
        """Close connections that take too long, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_S)
            now_s = time.monotonic()
            for each in list(self._open.values()):
                each.sweep(now_s)


CONNECTIONS = web.AppKey("connections", list[Connections])  # one, as soon as the console listens


@web.middleware
async def follow(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tell the connection of the request when its head has arrived, and when it is answered."""
    connection = next((each.of(request) for each in request.app[CONNECTIONS]), None)
    if connection is None:
        return await handler(request)
    connection.begin(request)
    try:
        return await handler(request)
    finally:
        connection.end()
