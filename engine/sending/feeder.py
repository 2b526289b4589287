"""The feeder of one number: it takes ranges of campaigns that may send, and reads each in one page ahead of
need.

`engine.core.order` says which campaign is next. A range that the number holds waits while recipients of a
higher priority are in hand.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from drumbeat.engine.core.order import FairOrder, Priority
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.feeds_in_hand import Feed, FeedsInHand
from drumbeat.engine.sending.messages import RunningCampaign
from drumbeat.engine.store.claims import page
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.store.leases import Lease
from drumbeat.engine.store.ranges import HeldRange, own_ranges, put_off, release_ranges, take_range


class Feeder:
    """The ranges that one number holds. `held` includes ranges whose recipients are all claimed.

    `in_hand` has the recipients that are not claimed yet.
    """

    def __init__(
        self,
        pool: Pool,
        lease: Lease,
        campaign_cache: CampaignCache,
        leaves: Callable[[int], bool] = lambda _campaign_id: False,
        waits: Callable[[int], bool] = lambda _campaign_id: False,
    ) -> None:
        """Set up the feeder. Both functions are about a campaign at this moment.

        `leaves` returns whether its free ranges are left to other numbers. `waits` returns whether the number
        may claim none of its recipients.
        """
        self._pool = pool
        self._lease = lease
        self._campaign_cache = campaign_cache
        self._leaves = leaves
        self._waits = waits
        self.in_hand = FeedsInHand(campaign_cache, waits)
        self._ahead: asyncio.Task[None] | None = None
        self._order = FairOrder()
        self._uncertain = False  # an answer was lost: `held` may lack ranges that we own
        self._starts = campaign_cache.starts  # of campaigns, when our ranges were last read
        self.held: dict[int, HeldRange] = {}

    async def recover(self) -> None:
        """Feed the ranges that are stored as this number's: after a takeover, and after a lost answer."""
        self._uncertain, self._starts = False, self._campaign_cache.starts
        async with self._pool.acquire(timeout=5) as connection:
            ranges = await own_ranges(connection, self._lease)
        paged = self.in_hand.range_ids
        for held in ranges:
            if held.range_id not in paged:
                await self._add(held)

    async def feed(self) -> Feed | None:
        """Return the feed to claim from now, or None if no campaign has recipients for this number."""
        if (feed := self.in_hand.first()) is not None:
            return feed
        await (self._ahead or self._fetch(need=1))
        return self.in_hand.first()

    def look_ahead(self, need: int) -> None:
        """Start to fetch the next range if fewer than `need` recipients are read and not yet claimed.

        Recipients of a lower priority than the range do not count.
        """
        if self._ahead is not None:
            return
        is_higher_wanted = self._campaign_cache.has_priorities and self._next(need, self._claimants())
        if self.in_hand.count() >= need and not is_higher_wanted:
            return
        self._ahead = asyncio.create_task(self._fetch(need))
        self._ahead.add_done_callback(self._fetched)

    def remove(self, range_ids: set[int]) -> None:
        """Remove ranges that the number no longer holds."""
        for range_id in range_ids:
            self.in_hand.remove(range_id)
            self.held.pop(range_id, None)

    async def release_ranges(self, ranges: list[HeldRange]) -> None:
        """Release ranges. The caller knows that no message of them is under way."""
        if ranges:
            self._uncertain = True  # a range with a claim that has no outcome stays ours
            async with self._pool.acquire(timeout=5) as connection:
                await release_ranges(connection, self._lease, ranges)
            self.remove({held.range_id for held in ranges})
            for held in ranges:
                self._campaign_cache.note_free(held.campaign_id, is_free=True)

    async def close(self, timeout_s: float) -> None:
        """End a fetch that is in progress. A range that it takes within `timeout_s` is kept in `held`."""
        if self._ahead is not None:
            _, stuck = await asyncio.wait([self._ahead], timeout=timeout_s)
            for task in stuck:
                task.cancel()

    def _claimants(self) -> list[RunningCampaign]:
        """Return the campaigns that may have a free range for this number."""
        cache = self._campaign_cache
        free = cache.with_free_ranges(self._lease.phone_number_id)
        return [cache[campaign_id] for campaign_id in free if not self._waits(campaign_id)]

    def _next(self, need: int, claimants: Sequence[RunningCampaign]) -> list[int]:
        """Return the campaigns to ask for a range, in order: those whose priority has too few recipients
        here.
        """
        wanted = {rank for rank in Priority if self.in_hand.count(rank) < need}
        return self._order.in_order(claimant for claimant in claimants if claimant.priority in wanted)

    async def _fetch(self, need: int) -> None:
        """Take one range, of the first campaign of the order that has one.

        After a fail-over, the database may say that this number holds ranges that it released. Campaigns were
        paused then, and start again.
        """
        try:
            if self._uncertain or self._starts != self._campaign_cache.starts:
                await self.recover()
            await self._take_next(need)
        except LOST_CONNECTION:
            self._uncertain = True
            raise

    async def _take_next(self, need: int) -> None:
        claimants = self._claimants()
        for campaign_id in self._next(need, claimants):
            if self._leaves(campaign_id):
                continue
            held = await self._take(campaign_id)
            if held is not None:
                self._order.serve(campaign_id, held.last_seq - held.claimed_through, claimants)
                await self._add(held)
                return
            self._campaign_cache.note_free(campaign_id, is_free=False)

    async def _take(self, campaign_id: int) -> HeldRange | None:
        """Return a free range whose recipients may be sent to now; None if there is none.

        A range that may not be sent now puts off all free ranges of its time zones, so few come before the
        first that may.
        """
        async with self._pool.acquire(timeout=5) as connection:
            while (held := await take_range(connection, self._lease, campaign_id)) is not None:
                closed = self._campaign_cache.closed(held)
                if (
                    closed is None or held.claimed_through >= held.last_seq
                ):  # perhaps the range only has to be finished
                    return held
                await put_off(connection, self._lease, held, closed.due_at, closed.reason)
        return None

    async def put_off_closed(self) -> None:
        """Release ranges whose recipients may not be sent to now, until they may.

        A range in which a message is under way stays for now.
        """
        for held in list(self.held.values()):
            if (closed := self._campaign_cache.closed(held)) is not None:
                async with self._pool.acquire(timeout=5) as connection:
                    if await put_off(connection, self._lease, held, closed.due_at, closed.reason):
                        self.remove({held.range_id})

    def _fetched(self, task: asyncio.Task[None]) -> None:
        self._ahead = None
        if not task.cancelled():
            task.exception()  # retrieved and dropped: the next fetch is awaited, and raises if it fails too

    async def _add(self, held: HeldRange) -> None:
        self.held[held.range_id] = held
        if held.state == "open" and held.claimed_through < held.last_seq:
            async with self._pool.acquire(timeout=5) as connection:
                candidates = await page(connection, held)
            self.in_hand.add(Feed(held, deque(candidates)))
