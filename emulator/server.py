"""The life of the process: bind, say so, serve, end cleanly on a signal."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator

import orjson
import structlog
import uvloop

from emulator.config import ConfigError, EmulatorConfig
from emulator.events.deliverer import Deliverer
from emulator.gateway import Gateway
from emulator.routes import build_router
from emulator.service import Service
from emulator.wire.connection import Connection

BACKLOG = 4096
# Seconds that open replies are given when the service stops.
FINISH_TIMEOUT_S = 2.0


@contextlib.asynccontextmanager
async def running(config: EmulatorConfig) -> AsyncIterator[Gateway]:
    """The service, listening; `service.base_url` says where. Raises OSError if it cannot listen there."""
    service = Service(config)
    gateway = Gateway(service, build_router(service))
    listener = _listen(config.host, config.port)
    port = listener.getsockname()[1]
    host = f"[{config.host}]" if ":" in config.host else config.host
    service.base_url = f"http://{host}:{port}"
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(gateway), sock=listener, backlog=BACKLOG)
    tasks = [
        asyncio.create_task(Deliverer(lambda: service.events).run()),
        asyncio.create_task(_watch_time(gateway)),
    ]
    try:
        yield gateway
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await _finish_connections(gateway)


def serve(config: EmulatorConfig) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit code. A ready line goes to stdout once listening.

    ConfigError where it cannot listen.
    """
    if not structlog.is_configured():
        # stdout belongs to the ready line.
        structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    return uvloop.run(_serve(config))


async def _serve(config: EmulatorConfig) -> int:
    stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, _stop, stopped, 128 + number)
    try:
        async with running(config) as gateway:
            service = gateway.service
            _say({"event": "listening", "url": service.base_url, "numbers": list(service.numbers)})
            gc.collect()
            gc.freeze()
            return await stopped
    except OSError as error:
        where = f"{config.host}:{config.port}"
        code = error.errno or 0  # below zero: a name that nobody knows, which is in words already
        problem = os.strerror(code) if code > 0 else error.strerror or str(error)
        raise ConfigError(f"cannot listen on {where}: {problem}; choose another --host or --port") from error


def _stop(stopped: asyncio.Future[int], code: int) -> None:
    if not stopped.done():
        stopped.set_result(code)


def _say(event: dict[str, object]) -> None:
    sys.stdout.buffer.write(orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=BACKLOG)
    listener.setblocking(False)
    return listener


async def _watch_time(gateway: Gateway) -> None:
    """Count the seconds, and end the connections that take too many of them."""
    while True:
        await asyncio.sleep(1)
        gateway.tick += 1
        for connection in list(gateway.connections):
            connection.check_time(gateway.tick)


async def _finish_connections(gateway: Gateway) -> None:
    """Give open replies a moment, then end what is left."""
    for connection in list(gateway.connections):
        connection.finish_up()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(gateway.emptied.wait(), FINISH_TIMEOUT_S)
    for connection in list(gateway.connections):
        connection.abort()
