"""The group commit: each body is parsed into the waiting group on arrival, and one commit stores a whole
group.

Law: `done(True)` is called only after the commit that holds the body. A full queue refuses at once.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection

import asyncpg

from drumbeat.engine.core.events.origin import Origin, Ours
from drumbeat.engine.core.events.records import Parsed
from drumbeat.engine.core.units import SECOND_NS
from drumbeat.engine.process.throttled_log import ThrottledLog, ThrottledLogs
from drumbeat.engine.store.database import LOST_CONNECTION, OwnConnection, Pool
from drumbeat.engine.store.inbox import EventFlow, read_our_numbers
from drumbeat.engine.webhooks.body_group import BodyGroup, write
from drumbeat.engine.webhooks.metrics import Metrics

WAITING_EVENTS_MAX = 50_000  # about 50 MB of bodies; the last accepted body may exceed it
WAITING_BYTES_MAX = 64 * 1024 * 1024
COMMIT_EVENTS_MAX = 1_000  # keeps a commit short, and so the wait of every answer in it
# A commit takes several turns of the loop. Between them bodies are parsed and the database idles. Two commits
# at once raise the use of a core from three quarters to all of it.
COMMITS_AT_ONCE = 2
COMMIT_TIMEOUT_S = 5.0  # the service waits for the answer; a repeat of a slow commit does no harm

WATCH_S = 1.0
FOREIGN_QUIET_NS = 300 * SECOND_NS  # events of others have ended after so long without one
_AWAY = (*LOST_CONNECTION, asyncpg.PostgresError)


class _Waiting:
    """A group and the callbacks that wait for its commit."""

    __slots__ = ("body_bytes", "dones", "group")

    def __init__(self, group: BodyGroup) -> None:
        self.group = group
        self.dones: list[Callable[[bool], None]] = []
        self.body_bytes = 0

    def is_full(self) -> bool:
        return self.group.events >= COMMIT_EVENTS_MAX


class Intake:
    """The queue of groups and its committers. `healthy`: the last commit or check succeeded."""

    def __init__(
        self,
        pool: Pool,
        metrics: Metrics,
        product: str,
        *,
        committed: asyncio.Event | None = None,
        waiting_events_max: int = WAITING_EVENTS_MAX,
        commit_timeout_s: float = COMMIT_TIMEOUT_S,
        accounts: Collection[str] = (),
    ) -> None:
        self.healthy = True
        self._ours = Ours(frozenset(accounts))
        self._pool = pool
        self._metrics = metrics
        self._product = product
        self._committed = committed
        self._waiting_events_max = waiting_events_max
        self._commit_timeout_s = commit_timeout_s
        self._queue: deque[_Waiting] = deque()
        self._bytes = 0
        self._commits = 0  # commits in progress
        self._not_stored = ThrottledLog("events_not_stored", "events_stored_again")
        self._foreign = {
            origin: ThrottledLog(*names)
            for origin, names in {
                Origin.OTHER_ACCOUNT: ("foreign_events_ignored", "foreign_events_ended"),
                Origin.UNKNOWN_NUMBER: ("events_of_unknown_number_kept", "events_of_unknown_number_ended"),
            }.items()
        }
        self._set_aside = ThrottledLogs("events_set_aside", "events_set_aside_ended", "reason")
        self._wake = asyncio.Event()
        self._flow = EventFlow()

    def offer(self, body: bytes, done: Callable[[bool], None]) -> bool:
        """Queue a signed body. `done` is called later with True if it is committed, else with False.

        Returns False if the queue is full. Then `done` is never called.
        """
        metrics = self._metrics
        if metrics.waiting >= self._waiting_events_max or self._bytes + len(body) > WAITING_BYTES_MAX:
            return False
        queue = self._queue
        waiting = queue[-1] if queue and not queue[-1].is_full() else self._open_group()
        metrics.waiting += waiting.group.add(body)
        waiting.dones.append(done)
        waiting.body_bytes += len(body)
        self._bytes += len(body)
        if waiting.is_full():
            self._wake.set()
        return True

    async def run(self) -> None:
        """Commit until cancelled. The next group holds what arrived during the last commit."""
        try:
            async with asyncio.TaskGroup() as committers:
                for _ in range(COMMITS_AT_ONCE):
                    committers.create_task(self._commit_on())
        except ExceptionGroup as bugs:
            raise bugs.exceptions[0] from bugs

    async def _commit_on(self) -> None:
        connection = OwnConnection(self._pool)
        try:
            while True:
                await self._wake.wait()
                if self._may_take_next():
                    await self._commit(self._queue.popleft(), connection)
                else:
                    self._wake.clear()
        finally:
            await connection.release()

    def _may_take_next(self) -> bool:
        """Return whether the next group may be committed now.

        While another commit runs, only a full group is taken: a smaller one can still grow.
        """
        return bool(self._queue) and (not self._commits or self._queue[0].is_full())

    async def watch(self) -> None:
        """Look once in WATCH_S, until cancelled."""
        while True:
            await self.look()
            for log in self._foreign.values():
                log.check_quiet(FOREIGN_QUIET_NS)
            self._set_aside.check_quiet(FOREIGN_QUIET_NS)
            await asyncio.sleep(WATCH_S)

    async def look(self) -> None:
        """Read the ids of our numbers, and note whether the database answers, for `/readyz`."""
        try:
            async with asyncio.timeout(self._commit_timeout_s):
                numbers = await read_our_numbers(self._pool)
            self._ours = Ours(self._ours.accounts, numbers)
            self.healthy = True
        except _AWAY:
            self.healthy = False

    def _open_group(self) -> _Waiting:
        """Start the group that takes new bodies from now on."""
        waiting = _Waiting(BodyGroup(self._product, self._ours))
        self._queue.append(waiting)
        self._wake.set()
        return waiting

    async def _commit(self, waiting: _Waiting, connection: OwnConnection) -> None:
        stored = None
        self._commits += 1
        try:
            stored = await self._write(waiting.group, connection)
        finally:
            self._commits -= 1
            self._wake.set()
            self._finish(waiting, stored)

    async def _write(self, group: BodyGroup, own: OwnConnection) -> list[Parsed] | None:
        """Return what was committed; None if the database is away."""
        try:
            async with asyncio.timeout(self._commit_timeout_s), own.use() as connection:
                stored = await write(connection, group, self._flow)
        except _AWAY as error:
            self._not_stored.report(problem=type(error).__name__, answered=503)
            self.healthy = False
            return None
        self._not_stored.resolve()
        self.healthy = True
        return stored

    def _finish(self, waiting: _Waiting, stored: list[Parsed] | None) -> None:
        self._metrics.waiting -= waiting.group.events
        self._bytes -= waiting.body_bytes
        for parsed in stored or ():
            self._tell(parsed)
        for done in waiting.dones:
            done(stored is not None)
        if stored is not None:
            self._metrics.commits += 1
            if self._committed is not None:
                self._committed.set()

    def _tell(self, stored: Parsed) -> None:
        _count(self._metrics, stored)
        for foreign in stored.foreign:
            self._foreign[foreign.origin].report(waba_id=foreign.account, number=foreign.number)
        for part in stored.unreadable:
            if part.phone_number_id is None:
                self._set_aside.report(part.problem)


def _count(metrics: Metrics, parsed: Parsed) -> None:
    metrics.events["status"] += len(parsed.statuses)
    metrics.events["message"] += len(parsed.messages)
    metrics.events["account"] += len(parsed.account)
    metrics.events["opt_out"] += len(parsed.opt_outs) + len(parsed.opted_out)
    metrics.events["unreadable"] += len(parsed.unreadable)
    for foreign in parsed.foreign:
        metrics.events[foreign.origin.value] += 1
