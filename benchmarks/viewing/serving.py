"""The console of a measurement: the real command, on the service's core, and a program that may do all."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from drumbeat.benchmarks.harness.database import Database
from drumbeat.benchmarks.harness.processes import listening
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token
from drumbeat.engine.store.database import open_pool


@dataclass(frozen=True, slots=True)
class ServedConsole:
    """A console that listens. `headers`: those that make a request one of the program."""

    url: str
    pid: int
    headers: dict[str, str]


@contextmanager
def console(database: Database) -> Iterator[ServedConsole]:
    """Serve the console during the block."""
    token = asyncio.run(_token(database.url))
    settings = {"database_url": database.url, "home": str(database.home)}
    with listening("console", "serve", "--port", "0", "--no-metrics", settings=settings) as running:
        yield ServedConsole(running.url, running.pid, {"Authorization": f"Bearer {token}"})


async def _token(url: str) -> str:
    async with open_pool(url, size=1) as pool:
        return await add_token(pool, f"benchmark-{secrets.token_hex(4)}", Role.MANAGE, actor="benchmark")
