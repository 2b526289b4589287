"""The transport over connections that are held from aiohttp's own pool: lanes.

Connecting, name resolution, TLS, proxies and the bound on connections are the connector's; the bytes of a
request are built once for a number, and only length and body change. A lane stays held between messages, the
one used last goes first, so that those that nobody needs any more grow old and close.
"""

from __future__ import annotations

import asyncio
import functools
import ssl

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ClientRequest
from yarl import URL

from engine.api.breaks import cancelled_by_pool, not_sent
from engine.api.lane_connection import Lane
from engine.api.proxy import proxy_of
from engine.api.transport import (
    CONNECT_S_MAX,
    CONNECTIONS,
    DNS_CACHE_S,
    KEEPALIVE_S,
    REPLY_S_MAX,
    TOTAL_S_MAX,
    Gate,
)
from engine.core.interface import API_VERSION
from engine.core.outcome import Outcome

# How exactly time-outs are met, as a share of the shortest; looked at by one timer for all lanes.
SWEEP_SHARE = 0.2
SWEEP_S_MIN = 0.01
SWEEP_S_MAX = 0.5
# The pool may give a connection that has grown stale in it; a service that speaks first does so each time.
CONNECT_ROUNDS = 2
HEADS_MAX = 10_000  # numbers whose request heads are kept; a process owns far fewer
# Of the request that stands for all in the pool; each message brings its own length.
_OF_THE_BODY = frozenset({"content-length", "transfer-encoding"})


class LaneTransport:
    """Sends through connections of one pool. Close it when done; `send` after that is NotSent."""

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
        self._loop = asyncio.get_running_loop()
        self._connector = _LaneConnector(connections, keepalive_s)
        self._timeout = aiohttp.ClientTimeout(total=total_s, connect=connect_s)
        self._keepalive_s, self._total_s, self._written_s = keepalive_s, total_s, min(reply_s, total_s)
        self._root = f"{base_url.rstrip('/')}/{api_version}"
        self._request = _pooled_request(self._root, token, tls, proxy)
        self._heads: dict[str, bytes] = {}
        self._lanes: set[Lane] = set()  # held from the pool
        self._idle: list[Lane] = []  # of them, those on which nothing is under way
        self._connecting = 0
        self._closed = False
        shortest_s = min(reply_s, total_s, keepalive_s)
        self._sweep_s = min(SWEEP_S_MAX, max(SWEEP_S_MIN, shortest_s * SWEEP_SHARE))
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)

    def __repr__(self) -> str:
        held, idle, connecting = len(self._lanes), len(self._idle), self._connecting
        return f"<LaneTransport {self._root} busy={held - idle} idle={idle} connecting={connecting}>"

    async def send(self, phone_number_id: str, payload: bytes, gate: Gate) -> Outcome:
        """See `Transport.send`."""
        try:
            self._head(phone_number_id)  # or a lane would be taken for a request that cannot be written
            # Not "or": a lane is a queue too, and an empty one is false.
            if (lane := self.free_connection()) is None:
                lane = await self._connect()
        except asyncio.CancelledError as problem:
            if cancelled_by_pool(self._closed):
                return not_sent(problem)
            raise
        except Exception as problem:
            return not_sent(problem)
        return await lane.exchange(phone_number_id, payload, gate, self._loop.time() + self._total_s)

    def free_connection(self) -> Lane | None:
        """The lane used last, unless it has grown too old to trust the server's keep-alive."""
        now_s = self._loop.time()
        while self._idle:
            lane = self._idle.pop()
            if lane.usable and now_s < lane.deadline_s:
                return lane
            self._drop(lane, "unused for too long")
        return None

    def begin(self, lane: Lane, phone_number_id: str, payload: bytes) -> bytes:
        """The bytes of a request that is written to this lane now: its reply has a deadline."""
        lane.deadline_s = self._loop.time() + self._written_s
        head = self._heads.get(phone_number_id) or self._head(phone_number_id)
        return b"%b%d\r\n\r\n%b" % (head, len(payload), payload)

    async def close(self) -> None:
        """Close every connection; open requests end as breaks."""
        self._closed = True
        self._sweeper.cancel()
        for lane in list(self._lanes):
            lane.drop("the transport was closed")
        self._lanes.clear()
        self._idle.clear()
        await self._connector.close()

    async def _connect(self) -> Lane:
        if self._closed:
            raise ConnectionError("the transport is closed")
        self._connecting += 1
        try:
            for _ in range(CONNECT_ROUNDS):
                connection = await self._connector.connect(self._request, [], self._timeout)
                lane = connection.protocol
                if not isinstance(lane, Lane):  # a new aiohttp: its test says what lanes rely on
                    connection.close()
                    raise TypeError("this aiohttp does not build connections as lanes need them")
                lane.hold(connection, self)
                if lane.usable:
                    lane.deadline_s = self._loop.time() + self._keepalive_s
                    self._lanes.add(lane)
                    return lane
                lane.drop("out of step")
            raise ConnectionError("the service answered before it was asked")
        finally:
            self._connecting -= 1

    def free(self, lane: Lane) -> None:
        """An exchange on this lane has ended: the server keeps it alive from now."""
        lane.deadline_s = self._loop.time() + self._keepalive_s
        self.put_back(lane)

    def put_back(self, lane: Lane) -> None:
        """Nothing is under way on this lane any more; it is kept, unless it is out of step."""
        if self._closed or (lane.suspect and not lane.usable):
            self._drop(lane, "out of step")
        elif self._connecting and len(self._lanes) + self._connecting > self._connector.limit:
            self._lanes.discard(lane)
            lane.give_back()  # somebody waits in the pool for a place; with those on their way, all who do
        else:
            self._idle.append(lane)

    def _head(self, phone_number_id: str) -> bytes:
        """Everything before the length: request line and headers of one number, built once."""
        head = self._heads.get(phone_number_id)
        if head is None:
            if len(self._heads) >= HEADS_MAX:
                self._heads.clear()
            url = URL(f"{self._root}/{phone_number_id}/messages")
            head = self._heads[phone_number_id] = _head_bytes(self._request, url)
        return head

    def _sweep(self) -> None:
        """End what has waited too long: requests without a reply, lanes without a request."""
        self._sweeper = self._loop.call_later(self._sweep_s, self._sweep)
        now_s = self._loop.time()
        aged = [lane for lane in self._idle if lane.deadline_s <= now_s or not lane.usable]
        if aged:
            self._idle = [lane for lane in self._idle if lane.deadline_s > now_s and lane.usable]
            for lane in aged:
                self._drop(lane, "unused for too long")
        idle = set(self._idle)
        for lane in [one for one in self._lanes if one.deadline_s <= now_s and one not in idle]:
            lane.drop("no reply in time")

    def _drop(self, lane: Lane, reason: str) -> None:
        self._lanes.discard(lane)
        lane.drop(reason)


class _LaneConnector(aiohttp.TCPConnector):
    """aiohttp's pool, which builds a Lane where it would build a ResponseHandler."""

    def __init__(self, connections: int, keepalive_s: float) -> None:
        super().__init__(limit=connections, keepalive_timeout=keepalive_s, ttl_dns_cache=DNS_CACHE_S)
        self._factory = functools.partial(_new_lane, asyncio.get_running_loop())


def _new_lane(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return Lane(loop)


def _pooled_request(root: str, token: str, tls: ssl.SSLContext | None, proxy: str | None) -> ClientRequest:
    """The request in whose name the pool connects: it says where to, how to trust, and through whom."""
    by_way = proxy_of(proxy, root)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
        **by_way.request_headers,
    }
    return ClientRequest(
        "POST",
        URL(root),
        headers=headers,
        loop=asyncio.get_running_loop(),
        ssl=tls if tls is not None else True,
        proxy=by_way.url,
        proxy_headers=by_way.tunnel_headers,
    )


def _head_bytes(request: ClientRequest, url: URL) -> bytes:
    """As aiohttp would write it; a plain proxy is asked for the whole URL. ValueError for a broken header."""
    target = str(url) if request.proxy and not request.is_ssl() else url.raw_path_qs
    lines = [f"POST {target} HTTP/1.1"]
    lines += [
        f"{name}: {value}" for name, value in request.headers.items() if name.lower() not in _OF_THE_BODY
    ]
    if any(ord(character) < 32 or ord(character) == 127 for line in lines for character in line):
        raise ValueError("a header holds a control character")
    return ("\r\n".join(lines) + "\r\nContent-Length: ").encode("utf-8")
