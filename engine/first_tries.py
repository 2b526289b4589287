"""Claims first tries for one number: guards the next recipients of a page and raises their range's mark.

Law: nobody is sent to before the claim is known to be committed. When the answer to a COMMIT was lost, the
database says what became of it before anything else is claimed.
"""

import asyncio
from itertools import islice

from engine.clock import monotonic_ns, suspend_aware_ns
from engine.core.guard import PairGuard
from engine.feeder import Feed, Feeder
from engine.flow import Granted
from engine.guarding import Guarded, guard_first_tries, refuse_opted_out
from engine.shared import Shared
from engine.store.claims import (
    ClaimRefused,
    Raise,
    known_above,
    opted_out_phones,
    raise_mark,
    read_mark,
    unsent_first_try,
)
from engine.store.database import LOST_CONNECTION
from engine.store.leases import Lease

ASK_AGAIN_S = 0.5  # between two questions what became of a claim


class FirstTries:
    """Of one number. `claim` raises ClaimRefused, or what a lost database raises: then nothing is claimed."""

    def __init__(self, shared: Shared, lease: Lease, feeder: Feeder, pairs: PairGuard) -> None:
        self._shared = shared
        self._lease = lease
        self._feeder = feeder
        self._pairs = pairs

    async def claim(self, feed: Feed, room: int) -> Granted:
        """Claim the feed's next recipients, up to `room` of them; it goes on behind them."""
        candidates = list(islice(feed.page, room))
        campaign = self._shared.board[feed.held.campaign_id]
        guarded = guard_first_tries(candidates, campaign, self._pairs, self._lease, monotonic_ns())
        mark = candidates[-1].seq if len(candidates) < len(feed.page) else feed.held.hi
        claimed_ns = await self._raise(feed, mark, guarded)
        for _ in candidates:
            feed.page.popleft()
        return Granted(guarded.passed, [1] * len(guarded.passed), claimed_ns)

    async def _raise(self, feed: Feed, mark: int, guarded: Guarded) -> int:
        """Raise the mark; returns when the claiming statement was issued, on the suspend-aware clock.

        Recipients who asked for silence since the page was read are then no longer in `guarded.passed`.
        """
        claimed_ns = suspend_aware_ns()
        try:
            claimed_ns = await self._together(feed, mark, guarded) or await self._alone(feed, mark, guarded)
        except ClaimRefused:
            await self._look_at_refused(feed)
            raise
        except LOST_CONNECTION:
            if await self._mark_that_stands(feed) != mark:
                raise
        feed.held.mark = mark
        return claimed_ns

    async def _together(self, feed: Feed, mark: int, guarded: Guarded) -> int | None:
        """With other numbers, as nearly always; None: not claimed, and `_alone` finds out why."""
        if guarded.decided:
            return None
        return await self._shared.raiser.raise_mark(Raise(self._lease, feed.held, mark, guarded.passed))

    async def _alone(self, feed: Feed, mark: int, guarded: Guarded) -> int:
        async with self._shared.pool.acquire(timeout=5) as connection:
            gone = await opted_out_phones(connection, guarded.passed)
            refuse_opted_out(guarded, gone, self._shared.board[feed.held.campaign_id], self._lease)
            known = await known_above(connection, feed.held, mark)
            guarded.passed = [one for one in guarded.passed if one.seq not in known]
            claimed_ns = suspend_aware_ns()
            await raise_mark(connection, self._lease, feed.held, mark, guarded.decided)
        return claimed_ns

    async def _look_at_refused(self, feed: Feed) -> None:
        """A mark where we left it: the range is closed, and only its outcomes are waited for. A mark beyond
        is a raise whose answer was lost and which came late: nobody sent what it covers.
        """
        mark = await self._mark_that_stands(feed)
        if mark == feed.held.mark:
            self._feeder.drop(feed.held.range_id)
        while feed.page and feed.page[0].seq <= mark:
            self._shared.sink.put(unsent_first_try(feed.page.popleft(), self._lease))
        feed.held.mark = mark

    async def _mark_that_stands(self, feed: Feed) -> int:
        """Ask until the database answers. ClaimRefused: the range has a new owner, and is forgotten here."""
        while True:
            try:
                async with self._shared.pool.acquire(timeout=5) as connection:
                    return await read_mark(connection, self._lease, feed.held)
            except ClaimRefused:
                self._feeder.forget({feed.held.range_id})
                raise
            except LOST_CONNECTION:
                await asyncio.sleep(ASK_AGAIN_S)
