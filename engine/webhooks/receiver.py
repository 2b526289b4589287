"""The callback that the service pushes to, and what operators ask of it.

`/webhook`: the verification handshake (GET) and the events (POST), 200 only after the commit; `/livez`,
`/readyz`, `/metrics` beside it. Law: an unsigned request gets 403 and no further information; a signed one is
kept.
"""

import asyncio
import errno
import hmac
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs

from pydantic import SecretStr

from engine.errors import ConfigurationError
from engine.process.memory import rare_collections
from engine.webhooks.http import Answer, HttpConnection, Limits, Slot
from engine.webhooks.intake import Intake
from engine.webhooks.metrics import Metrics
from engine.webhooks.places import Places
from engine.webhooks.signature import SIGNATURE_HEADER, Verifier

CALLBACK_PATH = b"/webhook"
SWEEP_S = 1.0  # how late a slow peer may be noticed
DRAIN_S = 3.0  # for answers that wait for their commit when the receiver stops
BACKLOG = 1_024  # connections that the kernel holds while the receiver is busy

_COMMITTED = Answer(200)
_FORBIDDEN = Answer(403)
_AWAY = Answer(503)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the service and the receiver share: the key of the signatures, and the token of the handshake."""

    app_secret: SecretStr
    verify_token: SecretStr


class Receiver:
    """Answers requests; one for all connections of a server."""

    def __init__(
        self, intake: Intake, metrics: Metrics, secrets: Secrets, limits: Limits | None = None
    ) -> None:
        self._intake = intake
        self._metrics = metrics
        self._verify = Verifier(secrets.app_secret.get_secret_value().encode()).verify
        self._verify_token = secrets.verify_token.get_secret_value().encode()
        self._limits = limits or Limits()
        self._places = Places(self._limits.large_bodies, self._limits.waiting_bytes)
        self._connections: set[HttpConnection] = set()
        self._empty = asyncio.Event()
        self._empty.set()

    def connect(self) -> asyncio.Protocol:
        """The protocol of a new connection. Above the limit, the connection is closed without an answer."""
        if len(self._connections) >= self._limits.connections:
            self._metrics.refused_connections += 1
            return _Refused()
        connection = HttpConnection(
            self._handle, self._limits, self._places, self._forget, self._metrics.answers
        )
        self._connections.add(connection)
        self._empty.clear()
        self._metrics.connections = len(self._connections)
        return connection

    async def sweep(self) -> None:
        """Close slow and idle connections, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_S)
            now = asyncio.get_running_loop().time()
            for connection in list(self._connections):
                connection.expire(now)

    async def drain(self) -> None:
        """Close every connection once its requests are answered, after at most DRAIN_S."""
        for connection in list(self._connections):
            connection.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self._empty.wait()
        for connection in list(self._connections):
            connection.abort()

    def _handle(
        self, slot: Slot, method: bytes, target: bytes, headers: dict[bytes, bytes], body: bytes
    ) -> None:
        path, _, query = target.partition(b"?")
        if path != CALLBACK_PATH:
            slot.fill(self._tell(method, path))
        elif method == b"POST":
            self._take_events(slot, headers.get(SIGNATURE_HEADER), body)
        elif method == b"GET":
            slot.fill(self._shake_hands(query))
        else:
            slot.fill(Answer(405))

    def _take_events(self, slot: Slot, signature: bytes | None, body: bytes) -> None:
        if not self._verify(body, signature):
            slot.fill(_FORBIDDEN)
        elif not self._intake.offer(body, partial(_settle, slot)):
            slot.fill(_AWAY)

    def _shake_hands(self, query: bytes) -> Answer:
        """Interface, "Callback endpoints": a caller that knows the token gets the challenge, others 403."""
        try:
            given = parse_qs(query.decode("ascii"), max_num_fields=16)
        except ValueError:
            return _FORBIDDEN
        mode, token, challenge = (
            given.get(name, [""])[-1] for name in ("hub.mode", "hub.verify_token", "hub.challenge")
        )
        known = hmac.compare_digest(token.encode("utf-8", "replace"), self._verify_token)
        return (
            Answer(200, challenge.encode("utf-8", "replace")) if known and mode == "subscribe" else _FORBIDDEN
        )

    def _tell(self, method: bytes, path: bytes) -> Answer:
        if path not in (b"/livez", b"/readyz", b"/metrics"):
            return Answer(404)
        if method != b"GET":
            return Answer(405)
        if path == b"/metrics":
            return Answer(200, self._metrics.text().encode())
        if path == b"/readyz" and not self._intake.healthy:
            return Answer(503, b"the database does not answer\n")
        return Answer(200, b"ok\n")

    def _forget(self, connection: HttpConnection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()
        self._metrics.connections = len(self._connections)


def _settle(slot: Slot, committed: bool) -> None:
    slot.fill(_COMMITTED if committed else _AWAY)


class _Refused(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


@asynccontextmanager
async def listening(
    receiver: Receiver, intake: Intake, host: str, port: int, *, on_bug: Callable[[], None] = lambda: None
) -> AsyncIterator[str]:
    """Accept connections; yields the URL of the callback. The exit accepts no more and drains the rest.

    Raises ConfigurationError if it cannot listen on host and port. Port 0 is any free port. `on_bug` is
    called when a task of the receiver ends by itself: nothing is committed any more. The exit raises why.
    """
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(receiver.connect, host, port, backlog=BACKLOG)
    except OSError as error:
        raise _cannot_listen(host, port, error) from error
    tasks = [asyncio.create_task(work) for work in (intake.run(), intake.watch(), receiver.sweep())]
    for task in tasks:
        task.add_done_callback(lambda _: on_bug())
    try:
        bound = server.sockets[0].getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        with rare_collections():
            yield f"http://{shown}:{bound}{CALLBACK_PATH.decode()}"
    finally:
        server.close()
        await receiver.drain()
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result


def _cannot_listen(host: str, port: int, error: OSError) -> ConfigurationError:
    where = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return ConfigurationError(f"port {port} is in use", where=where, remedy="choose another with --port")
    if error.errno == errno.EACCES:
        return ConfigurationError(
            f"port {port} needs a privilege", where=where, remedy="choose one above 1023"
        )
    if isinstance(error, socket.gaierror):
        return ConfigurationError(f"{host} is not an address of this machine", where=where)
    return ConfigurationError(f"cannot listen: {error.strerror or error}", where=where)
