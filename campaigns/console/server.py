"""The console's server: its routes, the checks that every request passes, and its life."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
from aiohttp import web

from drumbeat.campaigns.console.new.header_uploads import remove_unneeded
from drumbeat.campaigns.console.routes import routes
from drumbeat.campaigns.console.web.access import Doorkeeper
from drumbeat.campaigns.console.web.connections import CONNECTIONS, IDLE_S_MAX, Connections, follow
from drumbeat.campaigns.console.web.context import (
    CONSOLE,
    Console,
    Handler,
    Route,
    caller_of,
    console_of,
    has_left,
    set_caller,
)
from drumbeat.campaigns.console.web.forms import check_form, require_text
from drumbeat.campaigns.console.web.observing import observe, route_of, serving_metrics
from drumbeat.campaigns.console.web.operations import PREFIX
from drumbeat.campaigns.console.web.problem_page import problem_page
from drumbeat.campaigns.console.web.problems import Problem, Refused, problem_of
from drumbeat.campaigns.console.web.request_limits import Allowance
from drumbeat.campaigns.console.web.security_headers import add_security_headers
from drumbeat.campaigns.console.web.settings import ConsoleSettings, console_settings, require_guarded
from drumbeat.campaigns.console.web.uploads import remove_old
from drumbeat.campaigns.console.web.users import any_user, form_key
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.settings import MetricsAddress, Settings
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.system_error import system_error_text

POOL_CONNECTIONS = 8
BODY_BYTES_MAX = 1 << 20  # of a form; an upload has a limit of its own and is written to a file
BACKLOG = 128  # connections that wait to be accepted
CLIENT_LEFT = 499  # the status that proxies log for a client that left; nobody receives it
TIDY_S = 3_600.0
LOOK_S = 5.0  # a console that nobody uses has no connection otherwise
CLOSE_S_MAX = 5.0  # for requests that are answered while the console stops

BEGUN: web.RequestKey[bool] = web.RequestKey("begun", bool)  # the head of the reply was sent

log = get_logger(__name__)


def application(console: Console, table: Iterable[Route] | None = None) -> web.Application:
    """Return the aiohttp application of a console."""
    app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[follow, observe, _answer_problems])
    app[CONNECTIONS] = []
    app[CONSOLE] = console
    app.on_response_prepare.append(add_security_headers)
    app.on_response_prepare.append(_note_begun)
    for route in routes() if table is None else table:
        app.router.add_route(route.method, route.path, _guarded(route))
        if route.method == "GET":
            app.router.add_route("HEAD", route.path, _guarded(route))
    return app


def _guarded(route: Route) -> Handler:
    """Return the handler, for those who may use it."""

    async def handle(request: web.Request) -> web.StreamResponse:
        for text in (*request.match_info.values(), *request.query, *request.query.values()):
            require_text(text)
        door = console_of(request).door
        caller = await door.caller(request)
        set_caller(request, caller)
        if refusal := door.refuse(request, caller, route.role):
            raise Refused(*refusal)
        if route.role is not None:
            await check_form(request)
        if route.allowance is not None:
            _spend(request, route.allowance)
        return await route.handler(request)

    return handle


def _spend(request: web.Request, allowance: Allowance) -> None:
    wait_s = console_of(request).limits.wait_s(allowance, caller_of(request).name, time.monotonic())
    if wait_s:
        raise Refused(429, "too_many_requests", wait_s=wait_s)


@web.middleware
async def _answer_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except web.HTTPRedirection:
        raise
    except asyncio.CancelledError:
        raise
    except Exception as error:
        if has_left(request):  # the error is that nobody reads the reply any more
            return web.Response(status=CLIENT_LEFT)
        problem = problem_of(error)
        if problem.code == "unexpected":
            log.exception("request_failed", method=request.method, route=route_of(request))
        if request.get(BEGUN, False):
            return _cut(request)
        return await answer(request, problem)


async def _note_begun(request: web.Request, _: web.StreamResponse) -> None:
    request[BEGUN] = True


def _cut(request: web.Request) -> web.Response:
    """End the connection in the middle of a reply, so that nobody takes the incomplete reply for the
    whole.
    """
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=CLIENT_LEFT)


async def answer(request: web.Request, problem: Problem) -> web.StreamResponse:
    """Return a problem: as JSON for programs, as a page for people."""
    is_of_program = request.path.startswith(PREFIX)
    reply = problem.response() if is_of_program else await problem_page(request, problem)
    if problem.allows:
        reply.headers["Allow"] = ", ".join(problem.allows)
    return reply


async def _tidy(console: Console) -> None:
    """Remove old uploads, which hold phones, and header files that no campaign needs; now and each hour."""
    while not console.stop.is_set():
        await asyncio.to_thread(remove_old, console.own.uploads)
        with suppress(*LOST_CONNECTION):
            await remove_unneeded(console.pool, console.settings.home)
        with suppress(TimeoutError):
            await asyncio.wait_for(console.stop.wait(), TIDY_S)


async def _watch_schema(console: Console) -> None:
    """Stop the console and raise ConfigurationError if the database needs a newer program.

    The connection that looks also tells a migration that this program is there.
    """
    while not console.stop.is_set():
        try:
            async with console.pool.acquire(timeout=LOOK_S):
                pass
        except (*LOST_CONNECTION, asyncpg.PostgresError):
            pass  # its pages say so
        except ConfigurationError:
            console.stop.set()
            raise
        with suppress(TimeoutError):
            await asyncio.wait_for(console.stop.wait(), LOOK_S)


@asynccontextmanager
async def running_console(
    pool: Pool,
    database_url: str,
    settings: Settings,
    *,
    host: str,
    port: int,
    stop: asyncio.Event,
    metrics: MetricsAddress | None = None,
) -> AsyncIterator[str]:
    """Run a console that listens while the block runs, and yield its URL. ConfigurationError if it may not
    listen there, or cannot, and at the end if the database needs a newer program. `metrics`: the address on
    which it serves them, if any.
    """
    own = console_settings(settings)
    require_guarded(own, host, has_users=await any_user(pool))
    door = Doorkeeper(pool, own, await form_key(pool))
    console = Console(pool, database_url, settings, own, door, stop)
    app = application(console)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_S_MAX, keepalive_timeout=IDLE_S_MAX)
    await runner.setup()
    tidying = asyncio.create_task(_tidy(console))
    watching = asyncio.create_task(_watch_schema(console))
    try:
        async with serving_metrics(metrics, console), _listening(runner, app, own, host, port) as url:
            yield url
    finally:
        stop.set()
        await asyncio.wait({tidying, watching})
        await console.close()
        await runner.cleanup()
        await console.close()  # again: a request may have begun work meanwhile
    watching.result()


@asynccontextmanager
async def _listening(
    runner: web.AppRunner, app: web.Application, own: ConsoleSettings, host: str, port: int
) -> AsyncIterator[str]:
    """Listen with bounded connections while the block runs, and yield the URL."""
    assert runner.server is not None
    connections = Connections(runner.server, own.is_proxy)
    app[CONNECTIONS].append(connections)
    loop = asyncio.get_running_loop()
    try:
        listener = await loop.create_server(connections.connect, host, port, backlog=BACKLOG)
    except OSError as error:
        raise ConfigurationError(
            f"the console cannot listen on {host}:{port}: {system_error_text(error)}",
            remedy="choose another --port",
        ) from error
    sweeping = asyncio.create_task(connections.sweep())
    try:
        yield _url_of(listener, host)
    finally:
        listener.close()
        connections.close_waiting()  # the end would wait for them
        sweeping.cancel()
        await asyncio.wait({sweeping})


def _url_of(listener: asyncio.Server, host: str) -> str:
    address: Any = listener.sockets[0].getsockname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{address[1]}"
