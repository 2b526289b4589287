"""The view of operators: a log event for each request, metrics, and the readiness of the console.

Law: a route is named by its pattern, because a path may hold a phone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg
from aiohttp import web

from drumbeat.campaigns.console.web.context import Console, Handler, console_of, maybe_caller
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.probe_server import serving
from drumbeat.engine.process.probes import Exposition, Probes, Problem
from drumbeat.engine.process.settings import MetricsAddress
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.store.metrics import DatabaseMetrics
from drumbeat.engine.store.overview import OverviewReader
from drumbeat.engine.store.statement_times import STATEMENT_TIMES

NO_ROUTE = "none"  # an address that does not exist
STATIC_ROUTE = "/static/{version}/{file}"  # a page has three of them: counted, not logged
STREAM = "text/event-stream"  # lasts as long as somebody looks
WATCH_S = 1.0
WATCH_S_MAX = 5.0  # for one answer of the database

log = get_logger(__name__)


@web.middleware
async def observe(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count and log the request, when it is answered."""
    began_s = time.monotonic()
    response = await handler(request)
    took_s = time.monotonic() - began_s
    console, route = console_of(request), route_of(request)
    console.metrics.answered(
        request.method if route != NO_ROUTE else NO_ROUTE,  # clients may invent methods
        route,
        response.status,
        None if response.content_type == STREAM else took_s,
    )
    if route != STATIC_ROUTE:
        caller = maybe_caller(request)
        log.info(
            "request_answered",
            method=request.method,
            route=route,
            status=response.status,
            took_ms=round(took_s * 1000),
            caller=None if caller is None else caller.name,
            address=console.door.address_of(request),
        )
    return response


def route_of(request: web.Request) -> str:
    """Return the pattern of the request's route."""
    resource = request.match_info.route.resource
    return NO_ROUTE if resource is None else resource.canonical


@asynccontextmanager
async def serving_metrics(address: MetricsAddress | None, console: Console) -> AsyncIterator[None]:
    """Serve metrics and readiness of a console while the context is open, if they have an address."""
    if address is None:
        yield
        return
    watch, reader = DatabaseWatch(console.pool), OverviewReader(console.pool)
    database = DatabaseMetrics(STATEMENT_TIMES, reader, lambda: watch.is_up)
    collectors = (console.metrics, console.streams, database)
    probes = Probes(Exposition(collectors, reader.refresh, address.installation), watch.problems)
    watching = asyncio.create_task(watch.run())
    try:
        async with serving(address, probes):
            yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


class DatabaseWatch:
    """A watch that notes whether the database answered lately."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.is_up = True

    def problems(self) -> list[Problem]:
        """Return the reasons why the console is not ready."""
        return [] if self.is_up else [Problem("database_away", "the database does not answer")]

    async def run(self) -> None:
        """Ask the database once every WATCH_S seconds, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(WATCH_S_MAX):
                    await self._pool.fetchval("SELECT 1")
                self.is_up = True
            except (*LOST_CONNECTION, asyncpg.PostgresError):
                self.is_up = False
            await asyncio.sleep(WATCH_S)
