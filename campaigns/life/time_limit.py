"""The end of a run at a time of day, as a signal would end it. The database's clock counts, whatever this
machine's says.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import TryLater
from drumbeat.engine.store.database import Pool


@dataclass(slots=True)
class TimeLimit:
    """A limit of a run. `passed` says that the limit ended the run, and not a signal."""

    until: datetime | None
    passed: bool = False

    def end(self, stop: asyncio.Event) -> None:
        self.passed = not stop.is_set()
        stop.set()


@asynccontextmanager
async def time_limit(pool: Pool, until: datetime | None, stop: asyncio.Event) -> AsyncIterator[TimeLimit]:
    """Set `stop` at `until`, if the block has not ended by then. Raise TryLater if it has passed."""
    limit = TimeLimit(until)
    if until is None:
        yield limit
        return
    left_s = float(await pool.fetchval(statements("campaign_control")["seconds_until"], until))
    if left_s <= 0:
        raise TryLater(f"{until.isoformat()} has passed: nothing was sent", remedy="give a later --until")
    timer = asyncio.get_running_loop().call_later(left_s, limit.end, stop)
    try:
        yield limit
    finally:
        timer.cancel()
