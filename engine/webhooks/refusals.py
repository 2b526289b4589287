"""The requests to the callback that were refused: counted by reason, logged, and noted for `doctor`.

Each refused body is an event that waits at the service, or somebody who is not the service. Both are for a
person: so each reason is in the log once a minute, and in the database with its count for a day.
"""

import asyncio
from collections import Counter
from contextlib import suppress
from enum import StrEnum

import asyncpg

from drumbeat.engine.core.units import SECOND_NS
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.store.database import LOST_CONNECTION, Connection, Pool
from drumbeat.engine.store.queries import queries

STORE_S = 2.0
QUIET_NS = 300 * SECOND_NS  # a reason is over after so long without a refusal
AWAY = (*LOST_CONNECTION, asyncpg.PostgresError)


class Refusal(StrEnum):
    """The reasons. The values are those of the metric, the log and the stored row."""

    SIGNATURE = "wrong signature"
    NO_SIGNATURE = "no signature"
    HANDSHAKE = "wrong verify token"
    PATH = "wrong path"
    METHOD = "wrong method"
    CODING = "body not unpacked"
    TOO_LARGE = "too large"
    NOT_HTTP = "no valid request"
    BUSY = "not stored in time"


class Refusals:
    """The counts since the start, and those that are not stored yet."""

    def __init__(self) -> None:
        self.counts = Counter[str]()
        self._unstored = Counter[str]()
        self._logs = {
            reason: ThrottledLog("callback_refused", "callback_refusals_ended") for reason in Refusal
        }

    def note(self, reason: Refusal, status: int) -> None:
        self.counts[reason] += 1
        self._unstored[reason] += 1
        self._logs[reason].report(reason=reason.value, answered=status)

    async def store_on(self, pool: Pool) -> None:
        """Store the counts every few seconds until cancelled. While the database is away, they wait."""
        while True:
            await asyncio.sleep(STORE_S)
            for log in self._logs.values():
                log.check_quiet(QUIET_NS)
            with suppress(*AWAY):
                async with pool.acquire(timeout=STORE_S) as connection:
                    await self.store(connection)

    async def store(self, connection: Connection) -> None:
        """Add the counts to those of this minute. After an error they are stored with the next ones."""
        if not self._unstored:
            return
        counts, self._unstored = self._unstored, Counter[str]()
        try:
            await connection.execute(queries("inbox")["add_refusals"], list(counts), list(counts.values()))
        except BaseException:
            self._unstored.update(counts)
            raise
