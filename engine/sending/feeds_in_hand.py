"""The recipients that one number has read and not yet claimed, and those of them that it may claim now."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from drumbeat.engine.core.order import Priority
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.store.claims import Candidate
from drumbeat.engine.store.ranges import HeldRange


@dataclass(slots=True)
class Feed:
    """A held range and its recipients above the watermark, in order."""

    held: HeldRange
    page: deque[Candidate]


class FeedsInHand:
    """The feeds of one number. `waits` returns whether the number may claim none of a campaign now."""

    def __init__(self, campaign_cache: CampaignCache, waits: Callable[[int], bool]) -> None:
        self._campaign_cache = campaign_cache
        self._waits = waits
        self._feeds: deque[Feed] = deque()

    @property
    def unclaimed(self) -> int:
        """Return how many recipients are read and not yet claimed."""
        return sum(len(feed.page) for feed in self._feeds)

    @property
    def range_ids(self) -> set[int]:
        return {feed.held.range_id for feed in self._feeds}

    @property
    def priority(self) -> Priority | None:
        """Return the priority of the recipients that are claimed next; None if there are none."""
        feed = self.first()
        return None if feed is None else self._priority_of(feed)

    def add(self, feed: Feed) -> None:
        self._feeds.append(feed)

    def remove(self, range_id: int) -> None:
        """Claim nothing more from a range: it is closed, lost or released."""
        self._feeds = deque(feed for feed in self._feeds if feed.held.range_id != range_id)

    def sends(self, campaign_id: int) -> bool:
        """Return whether the number may claim recipients of a campaign at this moment."""
        return self._campaign_cache.sends(campaign_id) and not self._waits(campaign_id)

    def may_send(self, held: HeldRange) -> bool:
        """Return whether the number may claim in a range: the hours of its recipients must allow it, too."""
        return self.sends(held.campaign_id) and self._campaign_cache.closed(held) is None

    def first(self) -> Feed | None:
        """Return the feed of the highest priority; among several, the one that was taken first."""
        if self._campaign_cache.has_priorities:
            return max(self._sendable(), key=self._priority_of, default=None)
        return next(self._sendable(), None)

    def outranked(self) -> list[HeldRange]:
        """Return held ranges that wait, because recipients of a higher priority are in hand."""
        if not self._campaign_cache.has_priorities or (first := self.priority) is None:
            return []
        return [feed.held for feed in self._sendable() if self._priority_of(feed) < first]

    def count(self, lowest: Priority = Priority.LOW) -> int:
        """Return how many recipients of this priority or a higher one could be claimed now."""
        return sum(
            len(feed.page)
            for feed in self._feeds
            if self.may_send(feed.held) and self._priority_of(feed) >= lowest
        )

    def _sendable(self) -> Iterator[Feed]:
        for feed in self._feeds:
            held = feed.held
            if held.claimed_through < held.last_seq and self.may_send(held):
                yield feed

    def _priority_of(self, feed: Feed) -> Priority:
        return self._campaign_cache[feed.held.campaign_id].priority
