"""The frame around the task of a command: it loads settings, starts the event loop, and opens the database
and the service.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import uvloop

from drumbeat.campaigns.account.at_service import account_service
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.engine.prepare_database import prepare_database
from drumbeat.engine.process.settings import PREFIX, SECRETS, Settings, load_settings
from drumbeat.engine.process.telemetry import configure_logging
from drumbeat.engine.store.database import Connection, Pool, open_pool, report_loop_errors
from drumbeat.engine.store.installation import identify

if TYPE_CHECKING:  # most commands use only the database
    from drumbeat.engine.api.service import Service

Result = TypeVar("Result")


def prepare(**options: Any) -> None:
    """Check the settings given as options; set them for this process and the processes it starts."""
    given = {name: value for name, value in options.items() if value is not None}
    settings = load_settings(**given)
    configure_logging(getattr(settings, name) for name in SECRETS)
    for name in given:
        os.environ[f"{PREFIX}{name.upper()}"] = str(getattr(settings, name))


def with_database(task: Callable[[Pool], Awaitable[Result]], *, size: int = 4) -> Result:
    """Run `task` with a pool on the migrated database; return when it has ended."""
    return with_settings(lambda pool, _: task(pool), size=size)


def with_settings(
    task: Callable[[Pool, Settings], Awaitable[Result]], *, size: int = 4, by_key: bool = False
) -> Result:
    """Run `task` as `with_database` does, and give it the settings too. `by_key` says that the task sends or
    receives (see `open_pool`).
    """
    settings = load_settings()
    url = ready_database(settings)

    async def main() -> Result:
        async with open_pool(url, size=size, by_key=by_key, greet=identify if by_key else None) as pool:
            return await task(pool, settings)

    with database_blamed(url):
        return run_loop(main())


def run_loop(task: Coroutine[Any, Any, Result]) -> Result:
    """Run a task of the database in its own event loop, without log lines of the driver's late errors."""

    async def main() -> Result:
        asyncio.get_running_loop().set_exception_handler(report_loop_errors)
        return await task

    return uvloop.run(main())


def ready_database(settings: Settings) -> str:
    """Start and migrate the database if necessary, and return its URL."""
    given = settings.database_url
    location = str(settings.home / "postgres") if given is None else given.get_secret_value()
    with database_blamed(location):
        return prepare_database(settings)


def with_connection(task: Callable[[Connection], Awaitable[Result]]) -> Result:
    """Run a task that needs one connection, as `with_database` does."""

    async def run(pool: Pool) -> Result:
        async with pool.acquire() as connection:
            return await task(connection)

    return with_database(run, size=1)


def with_client(task: Callable[[Service], Awaitable[Result]]) -> Result:
    """Run `task` with a client of the service, for calls that are no management calls. Needs no database."""
    from drumbeat.engine.api.service import service_of  # imports aiohttp, a third of a command's start

    service = load_settings().service()

    async def main() -> Result:
        async with service_of(service) as client:
            return await task(client)

    return uvloop.run(main())


def with_service(task: Callable[[Pool, Service, str], Awaitable[Result]]) -> Result:
    """Run `task` with a pool, a client of the service, and the id of the account. All processes of the
    database share the budget of management calls.
    """
    settings = load_settings()
    service, waba_id = settings.service(), settings.required("waba_id")

    async def main(pool: Pool) -> Result:
        async with account_service(pool, service, waba_id) as client:
            return await task(pool, client, waba_id)

    return with_database(main)
