"""The writer of results: it stores outcomes in batches, and says when claims must stop because too many wait.

Law: if outcomes cannot be stored, stop sending. A crash puts in doubt every outcome that waits here, so their
number is bounded: above HIGH_MARK nothing is claimed. A batch that the database could not take is repeated
until it is stored. A fact that the database refuses does not delay the others: its recipient is put in doubt.
"""

import asyncio
import time
from contextlib import suppress

import asyncpg
from tenacity import RetryCallState

from drumbeat.engine.backoff import reconnecting
from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.sending.attempt_statistics import AttemptStatistics
from drumbeat.engine.store.database import LOST_CONNECTION, OwnConnection, Pool
from drumbeat.engine.store.facts import AttemptCounts, Fact, FactKind
from drumbeat.engine.store.recording import record

BATCH_MAX = 1_000  # larger transactions would disturb the pace
MANY = 500  # enough for a transaction; a longer wait would only put more recipients in doubt after a crash
HIGH_MARK = 2_000

# Errors for facts that the driver cannot encode, or the database refuses. A fact causes no other error.
REFUSED_FACT = (
    ValueError,
    TypeError,
    OverflowError,
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
)

log = get_logger(__name__)


class ResultsWriter:
    """A writer for one process. `put` never waits, `run` stores, `flushed` waits until all
    of it is stored.
    """

    def __init__(self, pool: Pool, period_s: float) -> None:
        """Start without facts. `period_s` is how long a batch that is not yet large waits for more."""
        self._own = OwnConnection(pool)  # outcomes must not queue behind claims that wait for a connection
        self._period_s = period_s
        self._facts: list[Fact] = []
        self._waiting_ns = 0  # the time since which the first of `_facts` waits
        self._storing_ns = 0  # the same for the batch that is being stored; 0 if none is
        self.attempt_statistics = AttemptStatistics(time.process_time())
        self._arrived = asyncio.Event()
        self._many = asyncio.Event()
        self._relieved = asyncio.Event()
        self._stored = 0
        self._put = 0
        self._progress = asyncio.Condition()
        self._not_stored = ThrottledLog("outcomes_not_stored", "outcomes_stored_again")
        self.problem = ""  # the problem in words, while outcomes cannot be stored

    @property
    def pending(self) -> int:
        """Return how many facts a crash at this moment would lose."""
        return self._put - self._stored

    @property
    def oldest_s(self) -> float:
        """Return for how long the oldest fact that is not stored has waited; 0 if all are stored."""
        since_ns = self._storing_ns or (self._waiting_ns if self._facts else 0)
        return (monotonic_ns() - since_ns) / SECOND_NS if since_ns else 0.0

    @property
    def full(self) -> bool:
        return self.pending >= HIGH_MARK or bool(self.problem)

    def put(self, fact: Fact) -> None:
        self._facts.append(fact)
        self._put += 1
        if self._put - self._stored == HIGH_MARK:
            self._relieved.clear()
        waiting = len(self._facts)
        if waiting == 1:
            self._waiting_ns = monotonic_ns()
            self._arrived.set()
        elif waiting == MANY:
            self._many.set()

    async def run(self) -> None:
        """Store until cancelled."""
        try:
            while True:
                await self._arrived.wait()
                if len(self._facts) < MANY:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._many.wait(), self._period_s)
                await self._store_next()
        finally:
            await self._own.release()

    async def relief(self, wait_s: float) -> None:
        """Wait until claims may continue, for `wait_s` at most."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._relieved.wait(), wait_s)

    async def flushed(self) -> None:
        """Wait until everything put before this call is stored."""
        target = self._put
        async with self._progress:
            await self._progress.wait_for(lambda: self._stored >= target)

    async def _store_next(self) -> None:
        """Store one batch. Facts that arrive meanwhile form the next one.

        A batch costs Postgres a millisecond before its first row.
        """
        self._arrived.clear()
        self._many.clear()
        batch, self._facts = self._facts[:BATCH_MAX], self._facts[BATCH_MAX:]
        self._storing_ns = self._waiting_ns
        await self._store(batch)
        self._storing_ns = 0
        self._stored += len(batch)
        if not self.full:
            self._relieved.set()
        async with self._progress:
            self._progress.notify_all()
        if self._facts:
            self._arrived.set()

    async def _store(self, batch: list[Fact]) -> None:
        counted = self.attempt_statistics.count(batch, time.process_time())
        async for storing in reconnecting(*LOST_CONNECTION, asyncpg.PostgresError, before_sleep=self._failed):
            with storing:
                await self._store_once(batch, counted)
        if self.problem:
            self.problem = ""
            self._not_stored.resolve(pending=self.pending)

    async def _store_once(self, batch: list[Fact], counted: list[AttemptCounts]) -> None:
        try:
            async with self._own.use() as connection:
                await record(connection, batch, counted)
        except REFUSED_FACT as problem:
            if counted:  # the database may refuse the statistics, and no fact
                await self._store_once(batch, [])
                await self._store_statistics(counted)
            else:
                await self._store_halves(batch, problem)

    async def _store_statistics(self, counted: list[AttemptCounts]) -> None:
        """Store the statistics of a refused batch. They are for the report, so a failure is only logged."""
        try:
            async with self._own.use() as connection:
                await record(connection, [], counted)
        except REFUSED_FACT as problem:
            log.warning("statistics_refused", problem=str(problem)[:200])

    async def _store_halves(self, batch: list[Fact], problem: Exception) -> None:
        """Halve a batch in which the database refuses a fact, until that fact is alone."""
        if len(batch) > 1:
            middle = len(batch) // 2
            await self._store_once(batch[:middle], [])
            await self._store_once(batch[middle:], [])
            return
        [fact] = batch
        log.error("fact_refused", range_id=fact.range_id, seq=fact.seq, problem=str(problem)[:200])
        if fact.kind is not FactKind.UNKNOWN:
            await self._store_once([_in_doubt(fact)], [])

    def _failed(self, state: RetryCallState) -> None:
        if not self.problem:
            self._relieved.clear()  # or a claim loop would spin in `relief` until the database is back
            problem = repr(state.outcome.exception() if state.outcome else None)[:200]
            self.problem = f"outcomes cannot be stored: {problem}"
            self._not_stored.report(problem=problem, pending=self.pending, effect="sending stops")


def _in_doubt(fact: Fact) -> Fact:
    """Return the fact that puts the recipient in doubt, in place of one that the database refuses."""
    return Fact(*fact[:6], FactKind.UNKNOWN, reason="the reply could not be stored")
