"""The work behind the receiver: folds events, acts on account events, applies the policies for doubts.

Each is a loop of its own that outlives a lost database and ends within seconds of the stop. Law: all of it
may run in several processes, be killed anywhere and be repeated; what it does is decided by the store.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from engine.process.throttled_log import ThrottledLog
from engine.store.database import LOST_CONNECTION, Connection, Pool
from engine.store.in_doubt import SILENCE_S, resend_by_policy
from engine.webhooks.account import act
from engine.webhooks.metrics import Metrics
from engine.webhooks.status_applier import BATCH_EVENTS_MAX, fold_batch

STOP_S = 4.0  # a transaction under way gets this long; the database undoes it afterwards
RECONNECT_WAIT_S_MAX = 10.0
ACQUIRE_S = 5.0  # to get a connection, and to give one back

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Intervals:
    """How often each loop looks by itself. `gather_s`: events of this long are folded together."""

    gather_s: float = 0.05
    fold_s: float = 1.0
    act_s: float = 2.0
    policy_s: float = 5.0
    quiet_s: float = SILENCE_S


class Reconciler:
    """`committed` is set when this process stores events: it saves the wait for the next look."""

    def __init__(
        self,
        pool: Pool,
        metrics: Metrics,
        committed: asyncio.Event,
        intervals: Intervals | None = None,
    ) -> None:
        self._pool = pool
        self._metrics = metrics
        self._committed = committed
        self._intervals = intervals or Intervals()
        self._not_folded = ThrottledLog("events_not_folded", "events_folded_again")

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; returns within STOP_S of it. Raises what is no loss of the database."""
        intervals = self._intervals
        loops = [
            asyncio.create_task(self._fold_on(stop)),
            asyncio.create_task(self._repeat(act, intervals.act_s, stop)),
            asyncio.create_task(self._repeat(self._apply_policies, intervals.policy_s, stop)),
        ]
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([*loops, stopping], return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                await asyncio.wait(loops, timeout=STOP_S)
        finally:
            for task in (*loops, stopping):
                task.cancel()
            results = await asyncio.gather(*loops, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result

    async def _fold_on(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._committed.clear()
            taken = await self._survive(self._fold, stop)
            if taken < BATCH_EVENTS_MAX and not stop.is_set():
                await _first_of(stop, self._committed, timeout_s=self._intervals.fold_s)
                await _first_of(stop, timeout_s=self._intervals.gather_s)

    async def _repeat(
        self, work: Callable[[Connection], Awaitable[int]], every_s: float, stop: asyncio.Event
    ) -> None:
        while not stop.is_set():
            done = await self._survive(work, stop)
            if not done:
                await _first_of(stop, timeout_s=every_s * random.uniform(0.9, 1.1))  # noqa: S311

    async def _survive(self, work: Callable[[Connection], Awaitable[int]], stop: asyncio.Event) -> int:
        """Do the work; while the database is away, wait longer and longer, with jitter, and do it again."""

        def give_up(_state: RetryCallState) -> bool:
            return stop.is_set()

        async def wait(seconds: float) -> None:
            await _first_of(stop, timeout_s=seconds)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(LOST_CONNECTION),
            wait=wait_random_exponential(multiplier=0.2, max=RECONNECT_WAIT_S_MAX),
            stop=give_up,
            sleep=wait,
            before_sleep=self._tell,
            retry_error_callback=lambda _state: 0,
        )
        done: int = await retrying(self._with_connection, work)
        return done

    async def _with_connection(self, work: Callable[[Connection], Awaitable[int]]) -> int:
        # The time also bounds the return of a connection that no longer answers.
        async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
            done = await work(connection)
        self._not_folded.is_over()
        return done

    def _tell(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        self._not_folded.met(problem=type(error).__name__)

    async def _fold(self, connection: Connection) -> int:
        folded = await fold_batch(connection)
        self._metrics.folds["matched"] += folded.matched
        self._metrics.folds["returned"] += folded.returned
        self._metrics.folds["dropped"] += folded.dropped
        if folded.dropped:
            why = "they matched no message in time, or came with another program's data"
            _log.warning("events_dropped", events=folded.dropped, why=why)
        return folded.taken

    async def _apply_policies(self, connection: Connection) -> int:
        resent = await resend_by_policy(connection, quiet_s=self._intervals.quiet_s)
        if resent:
            _log.info("doubts_sent_again", recipients=resent, by="policy")
        return resent


async def _first_of(*events: asyncio.Event, timeout_s: float) -> None:
    """Until one of the events is set, or the time is over."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
