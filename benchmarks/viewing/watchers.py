"""The people who watch: streams of server-sent events, read and thrown away."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import aiohttp

from drumbeat.benchmarks.viewing.serving import ServedConsole

_READ_BYTES = 1 << 16
_EVENT = b"event: view"


class Watchers:
    """The streams of one address. `events`: views that came over all of them so far."""

    def __init__(self, console: ServedConsole, address: str) -> None:
        self.events = 0
        self._console = console
        self._address = address
        self._session: aiohttp.ClientSession | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self, count: int) -> None:
        """Open so many, and wait until each has its first view."""
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        self._session = aiohttp.ClientSession(
            headers=self._console.headers, connector=connector, timeout=timeout
        )
        opened = [asyncio.Event() for _ in range(count)]
        self._tasks = [asyncio.create_task(self._watch(self._session, each)) for each in opened]
        for task, each in zip(self._tasks, opened, strict=True):
            waiting = asyncio.create_task(each.wait())
            await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                waiting.cancel()
                task.result()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        if self._session is not None:
            await self._session.close()

    async def _watch(self, session: aiohttp.ClientSession, opened: asyncio.Event) -> None:
        async with session.get(self._console.url + self._address) as reply:
            reply.raise_for_status()
            while content := await reply.content.read(_READ_BYTES):
                self.events += content.count(_EVENT)
                opened.set()
