"""Feeds one number: takes ranges of campaigns that may send, and reads each in one page ahead of need."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.sending.campaign_cache import CampaignCache
from engine.store.claims import Candidate, page
from engine.store.database import LOST_CONNECTION, Pool
from engine.store.leases import Lease
from engine.store.ranges import HeldRange, own_ranges, put_off, release_ranges, take_range


@dataclass(slots=True)
class Feed:
    """A held range and its recipients above the watermark, in order."""

    held: HeldRange
    page: deque[Candidate]


class Feeder:
    """The ranges that one number holds. `held` includes those whose recipients are all claimed."""

    def __init__(
        self,
        pool: Pool,
        lease: Lease,
        campaign_cache: CampaignCache,
        leaves: Callable[[int], bool] = lambda _campaign_id: False,
    ) -> None:
        """`leaves`: whether the free ranges of a campaign are left to other numbers at this moment."""
        self._pool = pool
        self._lease = lease
        self._campaign_cache = campaign_cache
        self._leaves = leaves
        self._feeds: deque[Feed] = deque()
        self._ahead: asyncio.Task[None] | None = None
        self._last_campaign = 0
        self._uncertain = False  # an answer was lost: `held` may lack ranges that we own
        self._starts = campaign_cache.starts  # of campaigns, when our ranges were last read
        self.held: dict[int, HeldRange] = {}

    @property
    def unclaimed(self) -> int:
        """How many recipients are read and not yet claimed."""
        return sum(len(feed.page) for feed in self._feeds)

    async def recover(self) -> None:
        """Feed the ranges that the database holds for us: after a take-over, and after an answer was lost."""
        self._uncertain, self._starts = False, self._campaign_cache.starts
        async with self._pool.acquire(timeout=5) as connection:
            ranges = await own_ranges(connection, self._lease)
        paged = {feed.held.range_id for feed in self._feeds}
        for held in ranges:
            if held.range_id not in paged:
                await self._add(held)

    async def feed(self) -> Feed | None:
        """The feed to claim from now, or None if no campaign has recipients for this number."""
        if (feed := self._sendable()) is not None:
            return feed
        await (self._ahead or self._fetch())
        return self._sendable()

    def look_ahead(self, need: int) -> None:
        """Start to fetch the next range if fewer than `need` recipients are read and not yet claimed."""
        if self._ahead is not None or self._sendable_count() >= need:
            return
        self._ahead = asyncio.create_task(self._fetch())
        self._ahead.add_done_callback(self._fetched)

    def stop_feeding(self, range_id: int) -> None:
        """Claim nothing more from a range: it is closed, lost or released."""
        self._feeds = deque(feed for feed in self._feeds if feed.held.range_id != range_id)

    def remove(self, range_ids: set[int]) -> None:
        """These ranges are no longer ours."""
        for range_id in range_ids:
            self.stop_feeding(range_id)
            self.held.pop(range_id, None)

    async def release_ranges(self, ranges: list[HeldRange]) -> None:
        """Release ranges in which, as the caller knows, nothing is under way."""
        if ranges:
            self._uncertain = True  # a range with a claim that has no outcome stays ours
            async with self._pool.acquire(timeout=5) as connection:
                await release_ranges(connection, self._lease, ranges)
            self.remove({held.range_id for held in ranges})
            for held in ranges:
                self._campaign_cache.some_free(held.campaign_id)

    async def close(self, timeout_s: float) -> None:
        """End a fetch that is in progress; a range that it takes within `timeout_s` is kept in `held`."""
        if self._ahead is not None:
            _, stuck = await asyncio.wait([self._ahead], timeout=timeout_s)
            for task in stuck:
                task.cancel()

    def _sendable(self) -> Feed | None:
        for feed in self._feeds:
            if feed.held.claimed_through < feed.held.last_seq and self.may_send(feed.held):
                return feed
        return None

    def _sendable_count(self) -> int:
        return sum(len(feed.page) for feed in self._feeds if self.may_send(feed.held))

    def may_send(self, held: HeldRange) -> bool:
        """Whether the campaign sends now, and the hours of the range's recipients allow it."""
        return self._campaign_cache.sends(held.campaign_id) and self._campaign_cache.closed(held) is None

    async def _fetch(self) -> None:
        """Take one range, from the campaign after the one that was served last.

        After a fail-over, the database may say that we hold ranges that we released. Campaigns were paused
        then, and start again.
        """
        try:
            if self._uncertain or self._starts != self._campaign_cache.starts:
                await self.recover()
            await self._take_next()
        except LOST_CONNECTION:
            self._uncertain = True
            raise

    async def _take_next(self) -> None:
        campaigns = self._campaign_cache.with_free_ranges(self._lease.phone_number_id)
        campaigns.sort(key=lambda campaign_id: (campaign_id <= self._last_campaign, campaign_id))
        for campaign_id in campaigns:
            if self._leaves(campaign_id):
                continue
            held = await self._take(campaign_id)
            if held is not None:
                self._last_campaign = campaign_id
                await self._add(held)
                return
            self._campaign_cache.none_free(campaign_id)

    async def _take(self, campaign_id: int) -> HeldRange | None:
        """A free range whose recipients may be sent to now.

        One that may not puts off all free ranges of its time zones, so few come before the first that may.
        """
        async with self._pool.acquire(timeout=5) as connection:
            while (held := await take_range(connection, self._lease, campaign_id)) is not None:
                closed = self._campaign_cache.closed(held)
                if (
                    closed is None or held.claimed_through >= held.last_seq
                ):  # perhaps it is only to be finished
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
            # Looked up after the wait: `stop_feeding` may have put another deque in its place meanwhile.
            self._feeds.append(Feed(held, deque(candidates)))
