"""The connections of one server: their count, the end of slow ones, and the end of all of them."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from drumbeat.http_server.body_quota import BodyQuota
from drumbeat.http_server.connection import Application, HttpConnection
from drumbeat.http_server.limits import Limits

SWEEP_S = 1.0  # how late a slow peer may be noticed

App = TypeVar("App", bound=Application)
MakeConnection = Callable[[App, Limits, BodyQuota, Callable[[HttpConnection], None]], HttpConnection]


class Server(Generic[App]):
    """A server. Pass `connect` to `loop.create_server`. `make` is `HttpConnection` or a class of its kind.

    `refused` counts the connections above the limit; `on_change` is called when a connection begins or ends.
    """

    def __init__(
        self,
        application: App,
        limits: Limits,
        make: MakeConnection[App],
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.connections: set[HttpConnection] = set()
        self.connections_max = limits.connections
        self.refused = 0
        self.body_quota = BodyQuota(limits)
        self._application = application
        self._limits = limits
        self._make = make
        self._on_change = on_change
        self._emptied = asyncio.Event()
        self._emptied.set()

    def connect(self) -> asyncio.Protocol:
        """Return the protocol of a new connection. One above the limit is closed without a reply."""
        if len(self.connections) >= self.connections_max:
            self.refused += 1
            self._on_change()
            return _Refused()
        connection = self._make(self._application, self._limits, self.body_quota, self._remove)
        self.connections.add(connection)
        self._emptied.clear()
        self._on_change()
        return connection

    async def sweep(self) -> None:
        """End slow and idle peers, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_S)
            now = asyncio.get_running_loop().time()
            for connection in list(self.connections):
                connection.expire(now)

    async def drain(self, timeout_s: float) -> None:
        """Let the open replies leave, then end every connection, after `timeout_s` at the latest."""
        for connection in list(self.connections):
            connection.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._emptied.wait()
        for connection in list(self.connections):
            connection.abort()

    def _remove(self, connection: HttpConnection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self._emptied.set()
        self._on_change()


class _Refused(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
