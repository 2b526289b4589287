"""Group commit: bodies wait in one line, and everything that waits is committed together.

Law: `done(True)` is called only after the commit that holds the body. A line that is full refuses at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import asyncpg

from engine.store.database import LOST_CONNECTION, Pool
from engine.trouble import Trouble
from engine.webhooks.events import Parsed
from engine.webhooks.inbox import Delivery, Flow, write
from engine.webhooks.metrics import Metrics

WAITING_EVENTS_MAX = 50_000  # about 50 MB of bodies; a larger body still enters when nothing waits
WAITING_BYTES_MAX = 64 * 1024 * 1024
COMMIT_EVENTS_MAX = 5_000  # keeps one commit, and so every answer in it, short
COMMIT_TIMEOUT_S = 5.0  # the service wants its answer; a commit that was only slow is a harmless repetition

WATCH_S = 1.0
_AWAY = (*LOST_CONNECTION, asyncpg.PostgresError)


class _Waiting(NamedTuple):
    delivery: Delivery
    done: Callable[[bool], None]
    weight: int  # events; a body without any is one unreadable event


class Intake:
    """The line and its one committer. `healthy`: what the last commit, or the last look, said."""

    def __init__(
        self,
        pool: Pool,
        metrics: Metrics,
        *,
        committed: asyncio.Event | None = None,
        waiting_events_max: int = WAITING_EVENTS_MAX,
        commit_timeout_s: float = COMMIT_TIMEOUT_S,
    ) -> None:
        self.healthy = True
        self._pool = pool
        self._metrics = metrics
        self._committed = committed
        self._waiting_events_max = waiting_events_max
        self._commit_timeout_s = commit_timeout_s
        self._line: deque[_Waiting] = deque()
        self._bytes = 0
        self._not_stored = Trouble("events_not_stored", "events_stored_again")
        self._wake = asyncio.Event()
        self._flow = Flow()

    def offer(self, body: bytes, parsed: Parsed, done: Callable[[bool], None]) -> bool:
        """Queue a body; `done` tells later whether it was committed. False: full, `done` is never called."""
        weight = parsed.events
        full = self._metrics.waiting + weight > self._waiting_events_max or (
            self._bytes + len(body) > WAITING_BYTES_MAX
        )
        if full and self._metrics.waiting:
            return False
        self._line.append(_Waiting(Delivery(body, parsed), done, weight))
        self._metrics.waiting += weight
        self._bytes += len(body)
        self._wake.set()
        return True

    async def run(self) -> None:
        """Commit until cancelled: the next group is what came during the last commit."""
        while True:
            await self._wake.wait()
            group = self._next_group()
            if not group:
                self._wake.clear()
                continue
            committed = False
            try:
                committed = await self._commit([waiting.delivery for waiting in group])
            finally:
                self._finish(group, committed)

    async def watch(self) -> None:
        """Ask the database now and then whether it is there, for the readiness answer; until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._commit_timeout_s):
                    await self._pool.fetchval("SELECT 1")
                self.healthy = True
            except _AWAY:
                self.healthy = False
            await asyncio.sleep(WATCH_S)

    def _next_group(self) -> list[_Waiting]:
        group: list[_Waiting] = []
        events = 0
        while self._line and (not group or events + self._line[0].weight <= COMMIT_EVENTS_MAX):
            group.append(self._line.popleft())
            events += group[-1].weight
        return group

    async def _commit(self, deliveries: list[Delivery]) -> bool:
        try:
            async with asyncio.timeout(self._commit_timeout_s), self._pool.acquire() as connection:
                await write(connection, deliveries, self._flow)
        except _AWAY as error:
            self._not_stored.met(problem=type(error).__name__, answered=503)
            self.healthy = False
            return False
        self._not_stored.is_over()
        self.healthy = True
        return True

    def _finish(self, group: list[_Waiting], committed: bool) -> None:
        for waiting in group:
            self._metrics.waiting -= waiting.weight
            self._bytes -= len(waiting.delivery.body)
            if committed:
                _count(self._metrics, waiting.delivery.parsed)
            waiting.done(committed)
        if committed:
            self._metrics.commits += 1
            if self._committed is not None:
                self._committed.set()


def _count(metrics: Metrics, parsed: Parsed) -> None:
    metrics.events["status"] += len(parsed.statuses)
    metrics.events["message"] += len(parsed.messages)
    metrics.events["account"] += len(parsed.account)
    metrics.events["unreadable"] += len(parsed.unreadable)
