"""Raises the watermarks of a process' numbers together: one statement, and one commit, for all that ask at
once.

Law: no number hears of a claim before its commit. A number whose claim is refused, or whose range is locked
at this moment, holds up no other.
"""

import asyncio
from collections.abc import Sequence

from engine.clock import SECOND_NS, monotonic_ns, suspend_aware_ns
from engine.store.claims import WatermarkAdvance, advance_watermarks
from engine.store.database import OwnConnection, Pool

# From one statement to the next: a commit waits for the disk, whatever it holds. A number asks when an eighth
# of a second of its pace is left; alone, it asks more seldom and never waits for this.
PERIOD_NS = SECOND_NS // 40

Waiting = tuple[WatermarkAdvance, asyncio.Future[int | None]]


class ClaimBatcher:
    """One for a process. `run` asks the database; `advance_watermark` may be called by any number
    meanwhile.
    """

    def __init__(self, pool: Pool) -> None:
        self._own = OwnConnection(pool)
        self._waiting: list[Waiting] = []
        self._asked = asyncio.Event()

    async def advance_watermark(self, wanted: WatermarkAdvance) -> int | None:
        """Claim; returns when the claiming statement was issued, in ns on the suspend-aware clock.

        None: nothing is claimed, and `opted_out_phones`, `recorded_above` and `advance_watermark` of the
        store tell why. Raises what a lost database raises: then `read_watermark` tells whether it is claimed.
        """
        told: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, told))
        self._asked.set()
        return await told

    async def run(self) -> None:
        """Raise until cancelled; who waits then is cancelled too."""
        issued_ns = -PERIOD_NS
        batch: list[Waiting] = []
        try:
            while True:
                await self._asked.wait()
                await asyncio.sleep(max(0, issued_ns + PERIOD_NS - monotonic_ns()) / SECOND_NS)
                issued_ns = monotonic_ns()
                self._asked.clear()
                # Who was cancelled meanwhile claims nothing.
                batch, self._waiting = [one for one in self._waiting if not one[1].done()], []
                if batch:
                    await self._raise(batch)
        finally:
            for _, told in (*batch, *self._waiting):
                told.cancel()
            await self._own.release()

    async def _raise(self, batch: Sequence[Waiting]) -> None:
        try:
            async with self._own.use() as connection:
                issued_ns = suspend_aware_ns()
                raised = await advance_watermarks(connection, [wanted for wanted, _ in batch])
        except Exception as problem:  # each number has to hear of it, whatever it is
            for _, told in batch:
                if not told.done():
                    told.set_exception(problem)
            return
        for wanted, told in batch:
            if not told.done():
                told.set_result(issued_ns if (wanted.held.range_id, wanted.lease.epoch) in raised else None)
