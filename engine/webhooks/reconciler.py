"""The work behind the receiver: apply statuses, act on account events, settle late events, apply policies.

Late events are those whose person or number was not known; the policies are for recipients in doubt. Each
kind of work runs in a loop of its own that survives a lost database and ends within seconds of the stop. Law:
each may run in several processes, be killed at any point and be repeated. The store decides what is done.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.core.events.origin import Ours
from drumbeat.engine.core.interface import PRODUCT
from drumbeat.engine.core.log_throttle import LogThrottle
from drumbeat.engine.core.retry import SILENCE_S
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.store.database import LOST_CONNECTION, Connection, Pool
from drumbeat.engine.store.in_doubt import resend_by_policy
from drumbeat.engine.store.service_facts import tell_news
from drumbeat.engine.store.status_applier import BATCH_EVENTS_MAX, apply_statuses
from drumbeat.engine.store.status_stops import carry_out_stops
from drumbeat.engine.store.unsettled import settle_events, settle_messages
from drumbeat.engine.webhooks.account import act
from drumbeat.engine.webhooks.held_changes import read_held
from drumbeat.engine.webhooks.metrics import Metrics

STOP_S = 4.0  # for a running transaction; after that the database rolls it back
RECONNECT_WAIT_S_MAX = 10.0
ACQUIRE_S = 5.0  # limits the wait for a connection of the pool, and its return

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Intervals:
    """The periods of the loops. `gather_s`: events that arrive within this time are applied together."""

    gather_s: float = 0.05
    apply_s: float = 1.0
    act_s: float = 2.0
    settle_s: float = 1.0
    policy_s: float = 5.0
    silence_s: float = SILENCE_S


class Reconciler:
    """A reconciler. `committed` is set when this process stores events.

    They are then applied without waiting for the next round.
    """

    def __init__(
        self,
        pool: Pool,
        metrics: Metrics,
        committed: asyncio.Event,
        intervals: Intervals | None = None,
        *,
        product: str = PRODUCT,
        accounts: Collection[str] = (),
    ) -> None:
        self._pool = pool
        self._metrics = metrics
        self._committed = committed
        self._intervals = intervals or Intervals()
        self._product = product
        self._accounts = Ours(frozenset(accounts))
        self._untied = LogThrottle()
        self._not_applied = ThrottledLog("statuses_not_applied", "statuses_applied_again")

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, and return within STOP_S. Raises every error but a lost database."""
        intervals = self._intervals
        loops = [
            asyncio.create_task(self._apply_statuses_until(stop)),
            asyncio.create_task(self._repeat(_act, intervals.act_s, stop)),
            asyncio.create_task(self._repeat(self._settle, intervals.settle_s, stop)),
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

    async def _apply_statuses_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._committed.clear()
            taken = await self._retry_while_away(self._apply_statuses, stop)
            if taken < BATCH_EVENTS_MAX and not stop.is_set():
                await _first_of(stop, self._committed, timeout_s=self._intervals.apply_s)
                await _first_of(stop, timeout_s=self._intervals.gather_s)

    async def _repeat(
        self, work: Callable[[Connection], Awaitable[int]], every_s: float, stop: asyncio.Event
    ) -> None:
        while not stop.is_set():
            done = await self._retry_while_away(work, stop)
            if not done:
                await _first_of(stop, timeout_s=every_s * random.uniform(0.9, 1.1))  # noqa: S311

    async def _retry_while_away(
        self, work: Callable[[Connection], Awaitable[int]], stop: asyncio.Event
    ) -> int:
        """Do the work. While the database is away, repeat it with growing waits and jitter."""

        def give_up(_state: RetryCallState) -> bool:
            return stop.is_set()

        async def wait(seconds: float) -> None:
            await _first_of(stop, timeout_s=seconds)

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(LOST_CONNECTION),
            wait=wait_random_exponential(multiplier=0.2, max=RECONNECT_WAIT_S_MAX),
            stop=give_up,
            sleep=wait,
            before_sleep=self._log_failure,
            retry_error_callback=lambda _state: 0,
        )
        done: int = await retrying(self._with_connection, work)
        return done

    async def _with_connection(self, work: Callable[[Connection], Awaitable[int]]) -> int:
        # The timeout also limits the return of a connection that no longer answers.
        async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
            done = await work(connection)
        self._not_applied.resolve()
        return done

    def _log_failure(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome is not None else None
        self._not_applied.report(problem=type(error).__name__)

    async def _apply_statuses(self, connection: Connection) -> int:
        batch = await apply_statuses(connection)
        if batch.stops:
            await carry_out_stops(connection)
        self._metrics.applied["matched"] += batch.matched
        self._metrics.applied["returned"] += batch.returned
        self._metrics.applied["dropped"] += batch.dropped
        if batch.dropped:
            why = "they matched no message in time, or came with another program's data"
            _log.warning("events_dropped", events=batch.dropped, why=why)
        return batch.taken

    async def _settle(self, connection: Connection) -> int:
        read = await read_held(connection, self._product, self._accounts)
        untied = await settle_messages(connection) + await settle_events(connection)
        self._metrics.untied_opt_outs += untied
        if untied and (times := self._untied.count(monotonic_ns())) is not None:
            why = "they name no phone and no message that is known; they are kept"
            _log.warning("opt_outs_untied", opt_outs=untied, times=times, why=why)
        return read

    async def _apply_policies(self, connection: Connection) -> int:
        await tell_news(connection)
        resent = await resend_by_policy(connection, silence_s=self._intervals.silence_s)
        if resent:
            _log.info("in_doubt_resent", recipients=resent, by="policy")
        return resent


async def _act(connection: Connection) -> int:
    """Act on account events, and carry out the stops of a process that was killed before it did."""
    return await carry_out_stops(connection) + await act(connection)


async def _first_of(*events: asyncio.Event, timeout_s: float) -> None:
    """Wait until one of the events is set or the time is over."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
