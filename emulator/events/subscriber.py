"""The subscriber: its outbox, its open POSTs, and the times at which a refused batch is tried again."""

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from drumbeat.emulator.clock import SECOND_NS
from drumbeat.emulator.events.envelope import Update
from drumbeat.emulator.schedule import Status

# POSTs that one subscriber is sent at the same time.
CONCURRENCY = 8
# Updates kept for a subscriber that does not answer. At the limit the oldest are dropped and counted.
OUTBOX_LIMIT = 3_000_000
# Bodies that wait for another delivery. At the limit nothing new is packed, and updates wait in the outbox.
RETRIES_LIMIT_BYTES = 256 * 1024 * 1024
# A batch is tried again at once, then after growing waits, and given up after seven days (open point).
RETRY_WAIT_LIMIT_S = 900.0
GIVE_UP_AFTER_S = 7 * 24 * 3600

ALL_FIELDS = frozenset({
    "messages", "user_preferences", "message_template_status_update", "message_template_quality_update",
    "template_category_update", "phone_number_quality_update", "account_update", "account_review_update",
    "account_alerts", "business_capability_update", "security",
})  # fmt: skip


class Batch(NamedTuple):
    """A batch of updates, packed once, so that every delivery sends the same bytes. Sorted by due time."""

    due_ns: int
    order: int
    body: bytes
    updates: int
    deliveries: int
    made_ns: int
    encoding: str | None = None


@dataclass(slots=True)
class DeliveryCounts:
    """The counts of updates and POSTs by their result."""

    delivered: int = 0
    given_up: int = 0
    dropped: int = 0
    posts: int = 0
    failed_posts: int = 0


@dataclass(slots=True)
class Subscriber:
    """A callback with the fields it subscribed to and the accounts whose events it gets.

    The second delivery is immediate; `retry_wait_s` is the wait before the third.
    """

    url: str
    app_secret: str
    fields: frozenset[str] = ALL_FIELDS
    retry_wait_s: float = 1.0
    verify_token: str = ""
    accounts: frozenset[str] = frozenset()
    outbox: deque[Status | Update] = field(default_factory=deque)
    retries: list[Batch] = field(default_factory=list)
    retry_bytes: int = 0
    in_flight: int = 0
    in_flight_updates: int = 0
    counts: DeliveryCounts = field(default_factory=DeliveryCounts)

    def wants(self, account_id: str, field: str) -> bool:
        """Return whether an event of this account and field is for this subscriber."""
        return account_id in self.accounts and field in self.fields

    def queue(self, update: Status | Update) -> None:
        """Add an update, dropping the oldest when the outbox is full."""
        if len(self.outbox) >= OUTBOX_LIMIT:
            self.outbox.popleft()
            self.counts.dropped += 1
        self.outbox.append(update)

    def take(self, limit: int) -> list[Status | Update]:
        """Return the next updates, for one POST."""
        return [self.outbox.popleft() for _ in range(min(limit, len(self.outbox)))]

    def due_retry(self, now_ns: int) -> Batch | None:
        """Return a batch whose wait is over."""
        if self.retries and self.retries[0].due_ns <= now_ns:
            batch = heapq.heappop(self.retries)
            self.retry_bytes -= len(batch.body)
            return batch
        return None

    @property
    def may_pack(self) -> bool:
        """Return whether there are updates to pack, and memory for their body if the POST is refused."""
        return bool(self.outbox) and self.retry_bytes < RETRIES_LIMIT_BYTES

    def settle(self, batch: Batch, *, delivered: bool, now_ns: int) -> None:
        """Record the result of a POST. A refused batch waits for its next delivery or is given up."""
        self.counts.posts += 1
        if delivered:
            self.counts.delivered += batch.updates
            return
        self.counts.failed_posts += 1
        if now_ns - batch.made_ns > GIVE_UP_AFTER_S * SECOND_NS:
            self.counts.given_up += batch.updates
            return
        due_ns = now_ns + round(self._wait_s(batch.deliveries) * SECOND_NS)
        self.retry_bytes += len(batch.body)
        heapq.heappush(self.retries, batch._replace(due_ns=due_ns, deliveries=batch.deliveries + 1))

    def _wait_s(self, deliveries: int) -> float:
        """Return the wait before the next delivery: none after the first one, then `retry_wait_s`, doubled
        each time.
        """
        doubled_s = self.retry_wait_s * 2 ** min(deliveries - 2, 30)
        return 0.0 if deliveries == 1 else min(doubled_s, RETRY_WAIT_LIMIT_S)

    def record(self) -> dict[str, Any]:
        """Return the subscriber as the control plane shows it."""
        waiting = sum(batch.updates for batch in self.retries)
        return {
            "url": self.url,
            "fields": sorted(self.fields),
            "pending": len(self.outbox) + self.in_flight_updates + waiting,
            "waiting_retry": waiting,
            "delivered": self.counts.delivered,
            "failed": self.counts.given_up + self.counts.dropped,
            "posts": self.counts.posts,
            "failed_posts": self.counts.failed_posts,
        }
