"""The transport over lanes: connections that are kept outside aiohttp's pool between requests.

aiohttp's connector connects, resolves names, speaks TLS, uses proxies and limits the connections. The head of
a request is built once for each number; only length and body change. The lane used last is used first. So
lanes that nobody needs reach their keep-alive deadline and close.
"""

import asyncio
import functools
import ssl

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from yarl import URL

from drumbeat.engine.api.connection_errors import cancelled_by_pool, connect_failure
from drumbeat.engine.api.lane_connection import Lane
from drumbeat.engine.api.proxy import proxy_of
from drumbeat.engine.api.transport import (
    CONNECT_S_MAX,
    CONNECTIONS,
    DNS_CACHE_S,
    KEEPALIVE_S,
    REPLY_S_MAX,
    TOTAL_S_MAX,
    PermitGate,
)
from drumbeat.engine.core.interface import API_VERSION
from drumbeat.engine.core.outcome import Outcome

# One timer checks the time-outs of all lanes. Its period is this share of the shortest time-out.
SWEEP_SHARE = 0.2
SWEEP_S_MIN = 0.01
SWEEP_S_MAX = 0.5
# The first connection may be a stale one from the pool. If the second is not usable either, the service sends
# bytes before any request.
CONNECTS_MAX = 2
HEADS_MAX = 10_000  # numbers whose request heads are cached; a process owns far fewer
# Headers of the shared request that are not sent: each message has its own length.
_BODY_HEADERS = frozenset({"content-length", "transfer-encoding"})


class LaneTransport:
    """A transport through the connections of one pool. Close it; after that, `send` returns NotSent."""

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
        """Open the pool. Needs a running loop.

        `connections` limits the requests in flight. `tls` replaces the default trust store. `proxy` is the
        URL of an HTTP proxy, with user and password if it needs them.
        """
        self._loop = asyncio.get_running_loop()
        self._connector = _LaneConnector(connections, keepalive_s)
        self._timeout = aiohttp.ClientTimeout(total=total_s, connect=connect_s)
        self._keepalive_s, self._total_s, self._written_s = keepalive_s, total_s, min(reply_s, total_s)
        self._root = f"{base_url.rstrip('/')}/{api_version}"
        self._request = _pooled_request(self._root, token, tls, proxy)
        self._heads: dict[str, bytes] = {}
        self._lanes: set[Lane] = set()  # attached, whether idle or busy
        self._idle: list[Lane] = []  # attached lanes without a request
        self._connecting = 0
        self._closed = False
        shortest_s = min(reply_s, total_s, keepalive_s)
        self._sweep_s = min(SWEEP_S_MAX, max(SWEEP_S_MIN, shortest_s * SWEEP_SHARE))
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)

    def __repr__(self) -> str:
        held, idle, connecting = len(self._lanes), len(self._idle), self._connecting
        return f"<LaneTransport {self._root} busy={held - idle} idle={idle} connecting={connecting}>"

    async def send(self, phone_number_id: str, payload: bytes, gate: PermitGate) -> Outcome:
        """Send as `Transport.send` says."""
        try:
            self._head(phone_number_id)  # raises before a lane is taken for a request that cannot be written
            # No `or` here: a Lane is also aiohttp's queue, which is false when empty.
            if (lane := self.acquire_idle()) is None:
                lane = await self._connect()
        except asyncio.CancelledError as problem:
            if cancelled_by_pool(self._closed):
                return connect_failure(problem)
            raise
        except Exception as problem:
            return connect_failure(problem)
        return await lane.exchange(phone_number_id, payload, gate, self._loop.time() + self._total_s)

    def acquire_idle(self) -> Lane | None:
        """Return the idle lane used last. Lanes past their keep-alive deadline are closed."""
        now_s = self._loop.time()
        while self._idle:
            lane = self._idle.pop()
            if lane.usable and now_s < lane.deadline_s:
                return lane
            self._disconnect(lane, "unused for too long")
        return None

    def begin_request(self, lane: Lane, phone_number_id: str, payload: bytes) -> bytes:
        """Begin as `LaneOwner` says."""
        lane.deadline_s = self._loop.time() + self._written_s
        head = self._heads.get(phone_number_id) or self._head(phone_number_id)
        return b"%b%d\r\n\r\n%b" % (head, len(payload), payload)

    def set_token(self, token: str) -> None:
        """Set the token as `Transport.set_token` says. Connections stay: each head has the token."""
        self._request.headers["Authorization"] = f"Bearer {token}"
        self._heads.clear()

    async def close(self) -> None:
        """Close every connection. Requests in flight become Unknown."""
        self._closed = True
        self._sweeper.cancel()
        for lane in list(self._lanes):
            lane.disconnect("the transport was closed")
        self._lanes.clear()
        self._idle.clear()
        await self._connector.close()

    async def _connect(self) -> Lane:
        if self._closed:
            raise ConnectionError("the transport is closed")
        self._connecting += 1
        try:
            for _ in range(CONNECTS_MAX):
                connection = await self._connector.connect(self._request, [], self._timeout)
                lane = connection.protocol
                if not isinstance(lane, Lane):  # see tests/api/test_lane_parser.py
                    connection.close()
                    raise TypeError("this version of aiohttp does not support lanes")
                lane.attach(connection, self)
                if lane.usable:
                    lane.deadline_s = self._loop.time() + self._keepalive_s
                    self._lanes.add(lane)
                    return lane
                lane.disconnect("not usable")
            raise ConnectionError("the service sent bytes before any request")
        finally:
            self._connecting -= 1

    def end_request(self, lane: Lane) -> None:
        """End as `LaneOwner` says. The keep-alive deadline begins anew."""
        lane.deadline_s = self._loop.time() + self._keepalive_s
        self.release(lane)

    def release(self, lane: Lane) -> None:
        """Release as `LaneOwner` says. The lane is kept for the next request if it is usable."""
        if self._closed or (lane.suspect and not lane.usable):
            self._disconnect(lane, "not usable")
        elif self._connecting and len(self._lanes) + self._connecting > self._connector.limit:
            # Lanes and pending connects exceed the pool's limit, so a `send` waits in the pool: return the
            # connection to it.
            self._lanes.discard(lane)
            lane.detach()
        else:
            self._idle.append(lane)

    def _head(self, phone_number_id: str) -> bytes:
        """Return the request line and the headers of one number, up to the length. They are built once."""
        head = self._heads.get(phone_number_id)
        if head is None:
            if len(self._heads) >= HEADS_MAX:
                self._heads.clear()
            url = URL(f"{self._root}/{phone_number_id}/messages")
            head = self._heads[phone_number_id] = _head_bytes(self._request, url)
        return head

    def _sweep(self) -> None:
        """Close the lanes that are past a deadline: of a reply, of a gate or of the keep-alive."""
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)
        now_s = self._loop.time()
        aged = [lane for lane in self._idle if lane.deadline_s <= now_s or not lane.usable]
        if aged:
            self._idle = [lane for lane in self._idle if lane.deadline_s > now_s and lane.usable]
            for lane in aged:
                self._disconnect(lane, "unused for too long")
        idle = set(self._idle)
        for lane in [lane for lane in self._lanes if lane.deadline_s <= now_s and lane not in idle]:
            lane.disconnect("no reply in time")

    def _disconnect(self, lane: Lane, reason: str) -> None:
        self._lanes.discard(lane)
        lane.disconnect(reason)


class _LaneConnector(aiohttp.TCPConnector):
    """The connection pool of aiohttp, with Lane in place of ResponseHandler."""

    def __init__(self, connections: int, keepalive_s: float) -> None:
        super().__init__(limit=connections, keepalive_timeout=keepalive_s, ttl_dns_cache=DNS_CACHE_S)
        self._factory = functools.partial(_new_lane, asyncio.get_running_loop())


def _new_lane(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return Lane(loop)


def _pooled_request(root: str, token: str, tls: ssl.SSLContext | None, proxy: str | None) -> ClientRequest:
    """Return the request that opens every connection of the pool: it has address, trust store and proxy."""
    route = proxy_of(proxy, root)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        **route.request_headers,
    }
    return ClientRequest(
        "POST",
        URL(root),
        headers=headers,
        loop=asyncio.get_running_loop(),
        ssl=tls if tls is not None else True,
        proxy=route.url,
        proxy_headers=route.tunnel_headers,
    )


def _head_bytes(request: ClientRequest, url: URL) -> bytes:
    """Return the head as aiohttp writes it. A proxy without a tunnel gets the whole URL.

    Raises ValueError if a header holds a control character.
    """
    target = str(url) if request.proxy and not request.is_ssl() else url.raw_path_qs
    lines = [f"POST {target} HTTP/1.1"]
    lines += [
        f"{name}: {value}" for name, value in request.headers.items() if name.lower() not in _BODY_HEADERS
    ]
    if any(ord(character) < 32 or ord(character) == 127 for line in lines for character in line):
        raise ValueError("a header holds a control character")
    return ("\r\n".join(lines) + "\r\nContent-Length: ").encode("utf-8")
