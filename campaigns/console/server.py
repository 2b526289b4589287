"""The console's server: its routes, the checks that every request passes, and its life."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from aiohttp import web

from drumbeat.campaigns.console.account.pages import NUMBERS, shared_numbers
from drumbeat.campaigns.console.account.template_pages import REVIEWS, shared_reviews
from drumbeat.campaigns.console.campaigns.launch_pages import PLANS, shared_plans
from drumbeat.campaigns.console.campaigns.live import CampaignWatch
from drumbeat.campaigns.console.campaigns.pages import LISTS, VIEWS, shared_lists, shared_views
from drumbeat.campaigns.console.campaigns.result_readings import READINGS, keep_readings
from drumbeat.campaigns.console.campaigns.results_pages import VIEWS as RESULTS
from drumbeat.campaigns.console.campaigns.results_pages import shared_results
from drumbeat.campaigns.console.new.header_uploads import remove_unneeded
from drumbeat.campaigns.console.operations import OPERATIONS, PREFIX
from drumbeat.campaigns.console.routes import PAGES
from drumbeat.campaigns.console.web import openapi as document
from drumbeat.campaigns.console.web.access import SAFE_METHODS, Doorkeeper
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
from drumbeat.campaigns.console.web.forms import check_form
from drumbeat.campaigns.console.web.observing import observe, route_of, serving_metrics
from drumbeat.campaigns.console.web.problem_page import problem_page
from drumbeat.campaigns.console.web.problems import Problem, Refused, problem_of
from drumbeat.campaigns.console.web.request_limits import Allowance
from drumbeat.campaigns.console.web.security_headers import add_security_headers
from drumbeat.campaigns.console.web.settings import console_settings, require_guarded
from drumbeat.campaigns.console.web.uploads import remove_old
from drumbeat.campaigns.console.web.users import any_user
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.settings import MetricsAddress, Settings
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.system_error import system_error_text

POOL_CONNECTIONS = 8
BODY_BYTES_MAX = 1 << 20  # of a form; an upload has a limit of its own and is written to a file
CLIENT_LEFT = 499  # the status that proxies log for a client that left; nobody receives it
TIDY_S = 3_600.0
# Forms and programs change the resources below these paths, and pages show them live.
LIVE_PATHS = tuple(f"{prefix}/{name}/" for prefix in ("", PREFIX) for name in ("campaigns", "numbers"))
CLOSE_S_MAX = 5.0  # for requests that are answered while the console stops

BEGUN: web.RequestKey[bool] = web.RequestKey("begun", bool)  # the head of the reply was sent

log = structlog.get_logger(__name__)


def routes() -> list[Route]:
    """Return every address of the console."""
    return [
        *(operation.route for operation in OPERATIONS),
        Route("GET", document.PATH, None, document.serve_document),
        *PAGES,
    ]


def application(console: Console, table: Iterable[Route] | None = None) -> web.Application:
    """Return the aiohttp application of a console."""
    app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[observe, _answer_problems])
    app[CONSOLE] = console
    app[VIEWS] = shared_views(console)
    app[LISTS] = shared_lists(console)
    app[NUMBERS] = shared_numbers(console)
    app[REVIEWS] = shared_reviews(console)
    keep_readings(app, console.pool, console.settings.prices)
    app[RESULTS] = shared_results(app[READINGS], console.pool, console.own.zone)
    app[PLANS] = shared_plans(console)
    app.on_response_prepare.append(add_security_headers)
    app.on_response_prepare.append(_note_begun)
    for route in routes() if table is None else table:
        # GET without HEAD: a stream has no head.
        app.router.add_route(route.method, route.path, _guarded(route))
    return app


def _guarded(route: Route) -> Handler:
    """Return the handler, for those who may use it."""

    async def handle(request: web.Request) -> web.StreamResponse:
        door = console_of(request).door
        caller = await door.caller(request)
        set_caller(request, caller)
        if refusal := door.refuse(request, caller, route.role):
            raise Refused(*refusal)
        if route.role is not None:
            await check_form(request)
        if route.allowance is not None:
            _spend(request, route.allowance)
        try:
            return await route.handler(request)
        finally:
            if route.method not in SAFE_METHODS and route.path.startswith(LIVE_PATHS):
                _forget_readings(request.app)

    return handle


def _forget_readings(app: web.Application) -> None:
    """Forget shared readings after a change, so that the person who made it sees it on the next page."""
    app[CONSOLE].watch.forget()
    for shared in (app[VIEWS], app[LISTS], app[NUMBERS]):
        shared.forget()


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
    if request.path.startswith(PREFIX):
        return problem.response()
    return await problem_page(request, problem)


async def _tidy(console: Console) -> None:
    """Remove old uploads, which hold phones, and header files that no campaign needs; now and each hour."""
    while not console.stop.is_set():
        await asyncio.to_thread(remove_old, console.own.uploads)
        with suppress(*LOST_CONNECTION):
            await remove_unneeded(console.pool, console.settings.home)
        with suppress(TimeoutError):
            await asyncio.wait_for(console.stop.wait(), TIDY_S)


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
    listen there, or cannot. `metrics`: the address on which it serves them, if any.
    """
    own = console_settings(settings)
    require_guarded(own, host, has_users=await any_user(pool))
    door, watch = Doorkeeper(pool, own), CampaignWatch(pool)
    console = Console(pool, database_url, settings, own, door, watch, stop)
    runner = web.AppRunner(application(console), access_log=None, shutdown_timeout=CLOSE_S_MAX)
    await runner.setup()
    tidying = asyncio.create_task(_tidy(console))
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise ConfigurationError(
                f"the console cannot listen on {host}:{port}: {system_error_text(error)}",
                remedy="choose another --port",
            ) from error
        async with serving_metrics(metrics, console):
            yield _url_of(runner, host)
    finally:
        stop.set()
        await asyncio.wait({tidying})
        await console.jobs.close()
        await console.checks.close()
        await runner.cleanup()


def _url_of(runner: web.AppRunner, host: str) -> str:
    address: Any = runner.addresses[0]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{address[1]}"
