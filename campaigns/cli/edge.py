"""The edge between a command line and the services: settings in, loop and database opened, output out."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar
from unicodedata import combining, east_asian_width

import orjson
import typer
import uvloop

from campaigns.cli.database_errors import database_blamed
from engine.prepare_database import prepare_database
from engine.process.settings import PREFIX, SECRETS, Settings, load_settings
from engine.process.telemetry import configure_logging
from engine.store.database import Connection, Pool, open_pool, report_loop_errors
from engine.store.installation import identify

if TYPE_CHECKING:  # most commands only ask the database
    from engine.api.resources import ManagementClient

Result = TypeVar("Result")
# Controls that the library writes as they are.
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def prepare(**options: Any) -> None:
    """Check the settings of the command line and hand them to this process and the processes it starts."""
    given = {name: value for name, value in options.items() if value is not None}
    settings = load_settings(**given)
    configure_logging(getattr(settings, name) for name in SECRETS)
    for name in given:
        os.environ[f"{PREFIX}{name.upper()}"] = str(getattr(settings, name))


def with_database(task: Callable[[Pool], Awaitable[Result]], *, size: int = 4) -> Result:
    """Run `task` with a pool on the migrated database of the settings; blocks until it has ended."""
    return with_settings(lambda pool, _: task(pool), size=size)


def with_settings(
    task: Callable[[Pool, Settings], Awaitable[Result]], *, size: int = 4, by_key: bool = False
) -> Result:
    """As `with_database`, for tasks that also talk to the service. `by_key`: it sends or receives."""
    settings = load_settings()
    url = ready_database(settings)

    async def main() -> Result:
        async with open_pool(url, size=size, by_key=by_key, greet=identify if by_key else None) as pool:
            return await task(pool, settings)

    with database_blamed(url):
        return run_loop(main())


def run_loop(task: Coroutine[Any, Any, Result]) -> Result:
    """Run what asks the database in a loop of its own, without the echoes of the database's driver."""

    async def main() -> Result:
        asyncio.get_running_loop().set_exception_handler(report_loop_errors)
        return await task

    return uvloop.run(main())


def ready_database(settings: Settings) -> str:
    """The URL of the database, up and migrated; it may go again while it is asked."""
    given = settings.database_url
    place = str(settings.home / "postgres") if given is None else given.get_secret_value()
    with database_blamed(place):
        return prepare_database(settings)


def with_connection(task: Callable[[Connection], Awaitable[Result]]) -> Result:
    """As `with_database`, for tasks of one connection."""

    async def run(pool: Pool) -> Result:
        async with pool.acquire() as connection:
            return await task(connection)

    return with_database(run, size=1)


def with_service(task: Callable[[Pool, ManagementClient, str], Awaitable[Result]]) -> Result:
    """Run `task` with a pool, a client of the management API, and the account's id."""
    from engine.api.resources import ManagementClient  # and aiohttp with it: a third of a command's start

    settings = load_settings()
    service, waba_id = settings.service(), settings.required("waba_id")

    async def main(pool: Pool) -> Result:
        token = service.access_token.get_secret_value()
        async with ManagementClient(
            service.base_url, token, api_version=service.api_version, proxy=service.proxy
        ) as client:
            return await task(pool, client, waba_id)

    return with_database(main)


def print_json(value: Any) -> None:
    """One JSON document on stdout, on one line."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_UTC_Z).decode().translate(_JSON_ESCAPES))


def print_rows(headings: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """A table in plain text on stdout; columns as wide as needed."""
    texts = [headings, *(tuple("" if cell is None else str(cell) for cell in row) for row in rows)]
    widths = [max(map(_places, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = (cell + " " * (width - _places(cell)) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _places(text: str) -> int:
    """How many places of a terminal it takes: names of businesses and campaigns are in any script."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def note(line: str) -> None:
    """Something for a person who looks on: stderr, so that results stay clean."""
    typer.echo(line, err=True)
