"""Stores what became of attempts, in batches, and says when the rest of the flow must stop for it.

Law: if outcomes cannot be stored, stop sending. What waits here is the part of the doubt that a crash would
leave, so it is bounded: above HIGH_MARK nobody claims. A batch that the database could not take is repeated
for as long as it takes. A fact that it refuses never holds up the others: its recipient ends in doubt.
"""

import asyncio
import time
from contextlib import suppress

import asyncpg
import structlog
from tenacity import RetryCallState

from engine.backoff import reconnecting
from engine.process.throttled_log import ThrottledLog
from engine.sending.attempt_statistics import AttemptStatistics
from engine.store.database import LOST_CONNECTION, OwnConnection, Pool
from engine.store.facts import Attempts, Fact, FactKind
from engine.store.recording import record

PERIOD_S = 0.05  # of outcomes in one transaction: amortises a commit, and adds this little to the doubt
BATCH_MAX = 1_000  # longer transactions would jitter the pace
MANY = 500  # enough for a transaction of its own: waiting longer would only add doubt
HIGH_MARK = 2_000

# What the driver cannot encode, or the database does not take. No other error is the fault of a fact.
REFUSED_FACT = (
    ValueError,
    TypeError,
    OverflowError,
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
)

log = structlog.get_logger(__name__)


class ResultsWriter:
    """One for a process. `put` never waits, `run` stores, `flushed` returns when what was put is stored."""

    def __init__(self, pool: Pool) -> None:
        self._own = OwnConnection(pool)  # outcomes must not pile up behind claims that wait
        self._facts: list[Fact] = []
        self.attempt_statistics = AttemptStatistics(time.process_time())
        self._arrived = asyncio.Event()
        self._many = asyncio.Event()
        self._relieved = asyncio.Event()
        self._stored = 0
        self._put = 0
        self._progress = asyncio.Condition()
        self._not_stored = ThrottledLog("outcomes_not_stored", "outcomes_stored_again")
        self.problem = ""  # in words, while outcomes cannot be stored

    @property
    def pending(self) -> int:
        """Facts that a crash at this moment would lose."""
        return self._put - self._stored

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
                        await asyncio.wait_for(self._many.wait(), PERIOD_S)
                await self._store_next()
        finally:
            await self._own.release()

    async def relief(self, wait_s: float) -> None:
        """Return when there is room again, or after `wait_s`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._relieved.wait(), wait_s)

    async def flushed(self) -> None:
        """Return when everything put before this call is stored."""
        target = self._put
        async with self._progress:
            await self._progress.wait_for(lambda: self._stored >= target)

    async def _store_next(self) -> None:
        """Store one batch. Facts that arrive meanwhile wait for more of them: a batch costs Postgres a
        millisecond before its first row.
        """
        self._arrived.clear()
        self._many.clear()
        batch, self._facts = self._facts[:BATCH_MAX], self._facts[BATCH_MAX:]
        await self._store(batch)
        self._stored += len(batch)
        if not self.full:
            self._relieved.set()
        async with self._progress:
            self._progress.notify_all()
        if self._facts:
            self._arrived.set()

    async def _store(self, batch: list[Fact]) -> None:
        counted = self.attempt_statistics.counted(batch, time.process_time())
        async for attempt in reconnecting(*LOST_CONNECTION, asyncpg.PostgresError, before_sleep=self._failed):
            with attempt:
                await self._store_once(batch, counted)
        if self.problem:
            self.problem = ""
            self._not_stored.is_over(pending=self.pending)

    async def _store_once(self, batch: list[Fact], counted: list[Attempts]) -> None:
        try:
            async with self._own.use() as connection:
                await record(connection, batch, counted)
        except REFUSED_FACT as problem:
            if counted:  # it may be they that are refused, and no fact
                await self._store_once(batch, [])
                await self._store_counts(counted)
            else:
                await self._store_apart(batch, problem)

    async def _store_counts(self, counted: list[Attempts]) -> None:
        """The counts of a batch that was refused: they are for the report, and must not be the trouble."""
        try:
            async with self._own.use() as connection:
                await record(connection, [], counted)
        except REFUSED_FACT as problem:
            log.warning("counts_not_storable", problem=str(problem)[:200])

    async def _store_apart(self, batch: list[Fact], problem: Exception) -> None:
        """The database refuses something in the batch: halve it until the one bad fact stands alone."""
        if len(batch) > 1:
            middle = len(batch) // 2
            await self._store_once(batch[:middle], [])
            await self._store_once(batch[middle:], [])
            return
        log.error(
            "fact_not_storable", range_id=batch[0].range_id, seq=batch[0].seq, problem=str(problem)[:200]
        )
        if batch[0].kind is not FactKind.UNKNOWN:
            await self._store_once([_in_doubt(batch[0])], [])

    def _failed(self, state: RetryCallState) -> None:
        if not self.problem:
            self._relieved.clear()  # or whoever waits for room would spin until the database is back
            problem = repr(state.outcome.exception() if state.outcome else None)[:200]
            self.problem = f"outcomes cannot be stored: {problem}"
            self._not_stored.met(problem=problem, pending=self.pending, effect="sending stops")


def _in_doubt(fact: Fact) -> Fact:
    """What remains of a fact that the database refuses: that its recipient is in doubt."""
    return Fact(
        fact.campaign_id,
        fact.range_id,
        fact.seq,
        fact.attempt_no,
        fact.epoch,
        fact.phone_number_id,
        FactKind.UNKNOWN,
        reason="the reply could not be stored",
    )
