"""Claims first attempts for one number: guards the next recipients of a page and raises their range's
watermark.

Law: nobody is sent to before the claim is known to be committed. When the answer to a COMMIT was lost, the
database says what became of it before anything else is claimed.
"""

import asyncio
from itertools import islice

from engine.clock import monotonic_ns, suspend_aware_ns
from engine.core.guard import PairGuard
from engine.sending.feeder import Feed, Feeder
from engine.sending.flow_context import Shared
from engine.sending.guarding import Guarded, guard_first_attempts, refuse_opted_out
from engine.sending.messages import Granted
from engine.store.claims import (
    ClaimRefused,
    WatermarkAdvance,
    advance_watermark,
    opted_out_phones,
    read_watermark,
    recorded_above,
    unsent_first_attempt,
)
from engine.store.database import LOST_CONNECTION
from engine.store.leases import Lease

ASK_AGAIN_S = 0.5  # between two questions what became of a claim


class FirstAttempts:
    """Of one number. `claim` raises ClaimRefused, or what a lost database raises: then nothing is claimed."""

    def __init__(self, shared: Shared, lease: Lease, feeder: Feeder, pairs: PairGuard) -> None:
        self._shared = shared
        self._lease = lease
        self._feeder = feeder
        self._pairs = pairs

    async def claim(self, feed: Feed, room: int) -> Granted:
        """Claim the feed's next recipients, up to `room` of them; it goes on behind them."""
        candidates = list(islice(feed.page, room))
        campaign = self._shared.campaign_cache[feed.held.campaign_id]
        guarded = guard_first_attempts(candidates, campaign, self._pairs, self._lease, monotonic_ns())
        claimed_through = candidates[-1].seq if len(candidates) < len(feed.page) else feed.held.last_seq
        claimed_ns = await self._raise(feed, claimed_through, guarded)
        for _ in candidates:
            feed.page.popleft()
        return Granted(guarded.passed, [1] * len(guarded.passed), claimed_ns)

    async def _raise(self, feed: Feed, claimed_through: int, guarded: Guarded) -> int:
        """Raise the watermark; returns when the claiming statement was issued, on the suspend-aware clock.

        Recipients who asked for silence since the page was read are then no longer in `guarded.passed`.
        """
        claimed_ns = suspend_aware_ns()
        try:
            claimed_ns = await self._together(feed, claimed_through, guarded) or await self._alone(
                feed, claimed_through, guarded
            )
        except ClaimRefused:
            await self._look_at_refused(feed)
            raise
        except LOST_CONNECTION:
            if await self._stored_watermark(feed) != claimed_through:
                raise
        feed.held.claimed_through = claimed_through
        return claimed_ns

    async def _together(self, feed: Feed, claimed_through: int, guarded: Guarded) -> int | None:
        """With other numbers, as nearly always; None: not claimed, and `_alone` finds out why."""
        if guarded.decided:
            return None
        return await self._shared.claim_batcher.advance_watermark(
            WatermarkAdvance(self._lease, feed.held, claimed_through, guarded.passed)
        )

    async def _alone(self, feed: Feed, claimed_through: int, guarded: Guarded) -> int:
        async with self._shared.pool.acquire(timeout=5) as connection:
            gone = await opted_out_phones(connection, guarded.passed)
            refuse_opted_out(guarded, gone, self._shared.campaign_cache[feed.held.campaign_id], self._lease)
            known = await recorded_above(connection, feed.held, claimed_through)
            guarded.passed = [one for one in guarded.passed if one.seq not in known]
            claimed_ns = suspend_aware_ns()
            await advance_watermark(connection, self._lease, feed.held, claimed_through, guarded.decided)
        return claimed_ns

    async def _look_at_refused(self, feed: Feed) -> None:
        """A watermark where we left it: the range is closed, and only its outcomes are waited for. A
        watermark beyond is a raise whose answer was lost and which came late: nobody sent what it covers.
        """
        claimed_through = await self._stored_watermark(feed)
        if claimed_through == feed.held.claimed_through:
            self._feeder.drop(feed.held.range_id)
        while feed.page and feed.page[0].seq <= claimed_through:
            self._shared.results_writer.put(unsent_first_attempt(feed.page.popleft(), self._lease))
        feed.held.claimed_through = claimed_through

    async def _stored_watermark(self, feed: Feed) -> int:
        """Ask until the database answers. ClaimRefused: the range has a new owner, and is forgotten here."""
        while True:
            try:
                async with self._shared.pool.acquire(timeout=5) as connection:
                    return await read_watermark(connection, self._lease, feed.held)
            except ClaimRefused:
                self._feeder.forget({feed.held.range_id})
                raise
            except LOST_CONNECTION:
                await asyncio.sleep(ASK_AGAIN_S)
