"""The server of `/livez`, `/readyz` and `/metrics` of a process, on a port of its own.

Law: sending matters more than metrics. If another process has the port, this one sends without metrics, says
so, and serves them as soon as the port is free.
"""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.answers import Answer, encode
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.probes import Probes
from drumbeat.engine.process.settings import MetricsAddress
from drumbeat.http_server.connection import HttpConnection
from drumbeat.http_server.limits import Limits
from drumbeat.http_server.parser import RawRequest
from drumbeat.http_server.replies import ReplySlot
from drumbeat.http_server.server import Server

RETRY_S = 5.0  # a worker that is replaced drains for about as long
# A request has no body. Prometheus and a few people ask, each on a connection or two.
LIMITS = Limits(body_bytes=0, usual_body_bytes=0, connections=64, large_bodies=0)

log = get_logger(__name__)


@asynccontextmanager
async def serving(address: MetricsAddress, probes: Probes) -> AsyncIterator[None]:
    """Serve while the context is open.

    Raises ConfigurationError if the process can never listen there, because the address is another machine's,
    or the port needs a privilege.
    """
    server = Server(_Application(probes), LIMITS, HttpConnection)
    listener = await _listen(address, server)
    tasks = [asyncio.create_task(server.sweep())]
    if listener is None:
        log.warning("metrics_not_served", port=address.port, problem="another process has the port")
        tasks.append(asyncio.create_task(_listen_later(address, server)))
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if listener is not None:
            listener.close()
        await server.drain(0.0)


class _Application:
    """The application that answers; see `http_server.connection.Application`."""

    def __init__(self, probes: Probes) -> None:
        self._probes = probes

    def handle(self, request: RawRequest, slot: ReplySlot) -> None:
        path = request.target.partition(b"?")[0]
        self._probes.handle(request.method, path, partial(_fill, slot, request.method == b"HEAD"))

    def refusal(self, status: int) -> bytes:
        return encode(Answer(status), closes=True)


def _fill(slot: ReplySlot, head_only: bool, answer: Answer) -> None:
    if slot.is_wanted:
        slot.finish(encode(answer, closes=slot.last, head_only=head_only))


async def _listen(address: MetricsAddress, server: Server[_Application]) -> asyncio.Server | None:
    """Return the listener; None if another process has the port."""
    loop = asyncio.get_running_loop()
    try:
        listener = await loop.create_server(server.connect, address.host, address.port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return None
        raise _cannot_listen(address, error) from error
    bound = listener.sockets[0].getsockname()
    log.info("metrics_served", host=bound[0], port=bound[1])
    return listener


async def _listen_later(address: MetricsAddress, server: Server[_Application]) -> None:
    """Try again until the port is free, then listen until cancelled."""
    listener = None
    while listener is None:
        await asyncio.sleep(RETRY_S)
        listener = await _listen(address, server)
    try:
        await asyncio.Event().wait()
    finally:
        listener.close()


def is_foreign_address(error: OSError) -> bool:
    """Return whether a process could not listen because the address is no address of this machine.

    Newer versions of asyncio give no error number then.
    """
    return isinstance(error, socket.gaierror) or error.errno in (errno.EADDRNOTAVAIL, None)


def _cannot_listen(address: MetricsAddress, error: OSError) -> ConfigurationError:
    where = f"metrics on {address.host}:{address.port}"
    if error.errno == errno.EACCES:
        remedy = "choose a --metrics-port above 1023"
        return ConfigurationError(f"port {address.port} needs a privilege", where=where, remedy=remedy)
    if is_foreign_address(error):
        remedy = "choose another --metrics-host"
        return ConfigurationError(
            f"{address.host} is not an address of this machine", where=where, remedy=remedy
        )
    return ConfigurationError(f"cannot listen: {error.strerror or error}", where=where)
