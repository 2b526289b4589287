"""The division of numbers among live workers: a worker notes that it lives, and does its part of the common
plan.

Law: a number is released only after an ordinary drain, so nobody is in doubt because of a move. A number is
taken only when nobody owns it. `engine.core.fair_share` makes the plan.
"""

import time

from drumbeat.engine.core.fair_share import Moves, moves
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.owned_numbers import OwnedNumbers
from drumbeat.engine.store.database import LOST_CONNECTION, Connection
from drumbeat.engine.store.sending_processes import (
    note_end,
    note_live,
    process_key,
    read_sharing,
    remove_dead_processes,
)


class NumberSharing:
    """The part of one worker. `campaign run` takes no part: it needs all numbers of its campaign, or none."""

    def __init__(self, context: FlowContext, numbers: OwnedNumbers) -> None:
        self._context = context
        self._numbers = numbers
        self._after_s = 0.0

    async def begin(self, connection: Connection) -> list[str]:
        """Look for the first time, and return the numbers that a worker that starts may take."""
        await remove_dead_processes(connection)
        return (await self._look(connection)).take

    async def balance(self, connection: Connection) -> None:
        """Take free numbers and release others, by the plan. Look once in `sharing_period_s`."""
        await self._numbers.release_drained(connection)
        if time.monotonic() < self._after_s:
            return
        part = await self._look(connection)
        self._numbers.hand_over(part.release)
        await self._numbers.take_over(connection, self._numbers.failed.others_of(part.take))

    async def leave(self) -> None:
        """Note that the worker stops, so that others plan its numbers for themselves before its drain."""
        try:
            async with self._context.pool.acquire(timeout=1) as connection:
                await note_end(connection, [self._numbers.owner.stored()])
        except (TimeoutError, *LOST_CONNECTION):
            return  # unless the end is noted, the others wait until its leases end

    async def _look(self, connection: Connection) -> Moves:
        self._after_s = time.monotonic() + self._context.timing.sharing_period_s
        owner, wanted = self._numbers.owner, self._numbers.wanted
        idle = [number.phone_number_id for number in self._context.idle_numbers()]
        await note_live(connection, owner, wanted, idle)
        view = await read_sharing(connection, owner)
        self._context.idle_elsewhere = view.idle_elsewhere
        return moves(process_key(owner.stored()), view.wanted, view.numbers)
