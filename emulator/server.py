"""The life of the process: bind, print the ready line, serve, end cleanly on a signal."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from typing import NamedTuple

import orjson
import structlog
import uvloop

from drumbeat.emulator.config import ConfigError, EmulatorConfig
from drumbeat.emulator.events.deliverer import Deliverer
from drumbeat.emulator.gateway import LIMITS, Gateway
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.routes import build_router
from drumbeat.emulator.wire.connection import EmulatorConnection
from drumbeat.http_server.server import Server

BACKLOG = 4096
# The time for replies that are open when the service stops.
DRAIN_S = 2.0


class RunningServer(NamedTuple):
    """A gateway and the HTTP server that it answers for."""

    gateway: Gateway
    server: Server[Gateway]


@contextlib.asynccontextmanager
async def running(config: EmulatorConfig) -> AsyncIterator[RunningServer]:
    """Yield the service, listening. `service.base_url` is its address. Raises OSError if it cannot listen
    there, ConfigError if its certificate cannot be used.
    """
    tls = _tls_of(config)
    service = MessagingService(config)
    gateway = Gateway(service, build_router(service))
    listener = _listen(config.host, config.port)
    port = listener.getsockname()[1]
    host = f"[{config.host}]" if ":" in config.host else config.host
    service.base_url = f"{'http' if tls is None else 'https'}://{host}:{port}"
    loop = asyncio.get_running_loop()
    server = Server(gateway, LIMITS, EmulatorConnection)
    listening = await loop.create_server(server.connect, sock=listener, backlog=BACKLOG, ssl=tls)
    tasks = [
        asyncio.create_task(Deliverer(service).run()),
        asyncio.create_task(server.sweep()),
    ]
    try:
        yield RunningServer(gateway, server)
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.drain(DRAIN_S)


def _tls_of(config: EmulatorConfig) -> ssl.SSLContext | None:
    if config.tls_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key)
    except OSError as error:  # an SSLError is one, too
        reason = error.strerror if error.errno and not isinstance(error, ssl.SSLError) else error
        files = f"{config.tls_cert} and {config.tls_key}"
        raise ConfigError(f"{files} are no certificate and its key: {reason}") from None
    return context


def serve(config: EmulatorConfig) -> int:
    """Serve until SIGINT or SIGTERM, and return the exit code. A ready line goes to stdout once the service
    listens.

    ConfigError if it cannot listen.
    """
    if not structlog.is_configured():
        # The only output on stdout is the ready line.
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    return uvloop.run(_serve(config))


async def _serve(config: EmulatorConfig) -> int:
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _stop, stopped, 128 + number)
    try:
        async with running(config) as (gateway, _):
            service = gateway.service
            _print_line({"event": "listening", "url": service.base_url, "numbers": list(service.numbers)})
            gc.collect()
            gc.freeze()
            return await stopped
    except OSError as error:
        where = f"{config.host}:{config.port}"
        code = error.errno or 0  # negative for a host name that does not resolve; strerror has the words
        problem = os.strerror(code) if code > 0 else error.strerror or str(error)
        raise ConfigError(f"cannot listen on {where}: {problem}; choose another --host or --port") from error


def _stop(stopped: asyncio.Future[int], code: int) -> None:
    if not stopped.done():
        stopped.set_result(code)


def _print_line(event: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    listener.setblocking(False)
    return listener
