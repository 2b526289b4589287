"""The claims for all numbers of a process together: one statement, and one commit, for those that ask at
once.

Law: a claim is reported to its number only after the commit. A number whose claim is refused, or whose range
is locked at this moment, does not delay the others.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from drumbeat.engine.clock import SECOND_NS, monotonic_ns, suspend_aware_ns
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.store.claims import WatermarkAdvance
from drumbeat.engine.store.database import LOST_CONNECTION, OwnConnection, Pool
from drumbeat.engine.store.frequency_cap import advance_within_caps

# The time between two statements, because a commit waits for the disk, however much it holds. A number asks
# while its queue still holds an eighth of a second of its rate. A number alone asks less often, so it never
# waits for this.
PERIOD_NS = SECOND_NS // 40

log = get_logger(__name__)


class Waiting(NamedTuple):
    """The request of a number. `claimed_ns` becomes what `advance_watermark` returns."""

    wanted: WatermarkAdvance
    claimed_ns: asyncio.Future[int | None]


class ClaimBatcher:
    """A batcher for one process. `run` calls the database; numbers may call `advance_watermark` meanwhile."""

    def __init__(self, pool: Pool) -> None:
        self._own = OwnConnection(pool)
        self._waiting: list[Waiting] = []
        self._asked = asyncio.Event()

    async def advance_watermark(self, wanted: WatermarkAdvance) -> int | None:
        """Claim, and return when the claiming statement was issued, in ns on the suspend-aware clock.

        None: nothing is claimed, or the statement failed for one of its numbers. `opted_out_phones`,
        `recorded_above` and `advance_watermark` of the store find out why. Raises what a lost database
        raises. Then `read_watermark` finds out whether it is claimed.
        """
        claimed_ns: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(Waiting(wanted, claimed_ns))
        self._asked.set()
        return await claimed_ns

    async def run(self) -> None:
        """Claim until cancelled. Numbers that wait then are cancelled too."""
        issued_ns = -PERIOD_NS
        batch: list[Waiting] = []
        try:
            while True:
                await self._asked.wait()
                await asyncio.sleep(max(0, issued_ns + PERIOD_NS - monotonic_ns()) / SECOND_NS)
                issued_ns = monotonic_ns()
                self._asked.clear()
                # A number that was cancelled meanwhile claims nothing.
                batch, self._waiting = [ask for ask in self._waiting if not ask.claimed_ns.done()], []
                if batch:
                    await self._claim(batch)
        finally:
            for ask in (*batch, *self._waiting):
                ask.claimed_ns.cancel()
            await self._own.release()

    async def _claim(self, batch: Sequence[Waiting]) -> None:
        try:
            async with self._own.use() as connection:
                issued_ns = suspend_aware_ns()
                claimed = await advance_within_caps(connection, [ask.wanted for ask in batch])
        except LOST_CONNECTION as problem:
            for ask in batch:
                if not ask.claimed_ns.done():
                    ask.claimed_ns.set_exception(problem)
            return
        # the error is of one number or campaign: each number claims alone, and only that one fails
        except Exception:
            log.exception("claims_failed_together", numbers=len(batch))
            claimed, issued_ns = set(), 0
        for wanted, claimed_ns in batch:
            if not claimed_ns.done():
                is_claimed = (wanted.held.range_id, wanted.lease.epoch) in claimed
                claimed_ns.set_result(issued_ns if is_claimed else None)
