"""A service that answers requests after a latency, and a client that an in-flight limit bounds; in virtual time."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable

from drumbeat.engine.core.pace.in_flight import InFlightLimit, SendState
from drumbeat.engine.core.units import SECOND_NS

TICK_NS = 4_000_000
BURST = 8.0  # permits that a late tick makes up for


class QueueingService:
    """Answers `answers_per_s` at most, one after the other, each after `latency_s()` at least."""

    def __init__(
        self, limit_per_s: float, answers_per_s: float, latency_s: float | Callable[[random.Random], float]
    ) -> None:
        self.limit_per_s, self.answers_per_s, self.latency_s = limit_per_s, answers_per_s, latency_s
        self.longest_s = 0.0
        self.in_flight = self.opened = 0
        self._now_ns = self._free_from_ns = 0
        self._limit = InFlightLimit()
        self._chance = random.Random(1)
        self._replies: list[tuple[int, int]] = []  # (reply, write)
        self._free = 0
        self._permits = 0.0

    def run(self, seconds: float) -> float:
        """The replies per second in this time."""
        replies, end_ns = 0, self._now_ns + int(seconds * SECOND_NS)
        while self._now_ns < end_ns:
            self._now_ns += TICK_NS
            replies += self._answer()
            self._permits = min(self._permits + self.limit_per_s * TICK_NS / SECOND_NS, BURST)
            self._serve(int(self._permits))
        return replies / seconds

    def stall(self, seconds: float) -> None:
        """Nothing is answered in this time, and writing continues."""
        stalled_ns = int(seconds * SECOND_NS)
        self._replies = [(reply_ns + stalled_ns, write_ns) for reply_ns, write_ns in self._replies]
        self._free_from_ns = self._now_ns + stalled_ns
        self.run(seconds)

    def _answer(self) -> int:
        replies = 0
        while self._replies and self._replies[0][0] <= self._now_ns:
            latency_ns = self._now_ns - heapq.heappop(self._replies)[1]
            self._limit.observe_latency(latency_ns)
            self.longest_s = max(self.longest_s, latency_ns / SECOND_NS)
            replies += 1
        self.in_flight -= replies
        self._free += replies
        if replies:
            self._limit.replied(self._now_ns, replies)
        return replies

    def _serve(self, due: int) -> None:
        due = min(due, self._limit.writes_allowed(self._now_ns, self.in_flight))
        reused = min(due, self._free)
        self._free -= reused
        self._write(reused)
        if due > reused:
            state = SendState(self._now_ns, self.in_flight, 0, self.limit_per_s, self.limit_per_s)
            opened = min(due - reused, self._limit.connections_allowed(state))
            self.opened += opened
            self._write(opened)

    def _write(self, count: int) -> None:
        self._permits -= count
        self.in_flight += count
        for _ in range(count):
            self._free_from_ns += int(SECOND_NS / self.answers_per_s)
            latency_s = self.latency_s(self._chance) if callable(self.latency_s) else self.latency_s
            earliest_ns = self._now_ns + int(latency_s * SECOND_NS)
            self._free_from_ns = max(self._free_from_ns, self._now_ns)
            heapq.heappush(self._replies, (max(earliest_ns, self._free_from_ns), self._now_ns))
