"""A service at a distance that limits arrivals in an exact sliding second, in virtual time.

A token bucket permits each write, and each wake-up is slightly late. `way` is the delay from write to arrival,
`work` the delay from arrival to reply. During a stall nothing arrives and nothing is answered.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from drumbeat.engine.core.pace.arrival_estimate import ArrivalEstimate
from drumbeat.engine.core.pace.in_flight import InFlightLimit
from drumbeat.engine.core.pace.token_bucket import TokenBucket
from drumbeat.engine.core.units import SECOND_NS

MS = 1_000_000
LEARN_PERIOD_NS = 100 * MS
WAKE_LATE_NS = MS
OWN_STALL_SHARE = 1 / 400  # of the wake-ups

Delay = Callable[[random.Random], int]
"""Nanoseconds, by chance."""


@dataclass(slots=True)
class Seen:
    """`reached`: what was written after the first second, as a share of the limit; `throttled`: of that."""

    written: int = 0
    throttled: int = 0
    reached: float = 0.0
    most_written: int = 0


class DistantService:
    """`stalls`: (begin, length) in nanoseconds, ascending. `estimate`: whether late replies move their requests in the
    ring. `own_stalls`: whether this process is suspended for 8 to 80 ms at times. `wake_late_ns`: each
    wake-up is late by up to this."""

    def __init__(
        self,
        limit_per_s: float,
        *,
        work: Delay,
        way: Delay = lambda _: 200_000,
        stalls: list[tuple[int, int]] | None = None,
        estimate: bool = True,
        own_stalls: bool = False,
        wake_late_ns: int = WAKE_LATE_NS,
        seed: int = 1,
    ) -> None:
        self._limit_per_s, self._work, self._way, self._estimates = limit_per_s, work, way, estimate
        self._stalls = deque(stalls or [])
        self._own_stalls, self._wake_late_ns = own_stalls, wake_late_ns
        self._chance = random.Random(seed)
        self._bucket = TokenBucket(limit_per_s, 0)
        self._estimate, self._in_flight = ArrivalEstimate(), InFlightLimit()
        self._under_way: list[tuple[int, int]] = []  # (arrival, write)
        self._replies: list[tuple[int, int]] = []  # (reply, write)
        self._window: deque[int] = deque()
        self._written: deque[int] = deque()
        self._answers = 0
        self._seen = Seen()

    def run(self, seconds: int) -> Seen:
        now_ns, learn_ns, end_ns = 0, 0, seconds * SECOND_NS
        while now_ns < end_ns:
            self._come_in(now_ns)
            self._estimate.awake(now_ns)
            if now_ns >= learn_ns:
                learn_ns = now_ns + LEARN_PERIOD_NS
                self._estimate.learn(self._answers, self._in_flight.latency_ns, self._limit_per_s)
            for _ in range(self._bucket.available(now_ns)):
                if self._bucket.take(now_ns):
                    self._write(now_ns)
            now_ns = self._next(now_ns, learn_ns)
        self._seen.reached = self._seen.written / (seconds - 1) / self._limit_per_s
        return self._seen

    def _next(self, now_ns: int, learn_ns: int) -> int:
        """When something happens next: a permit, a measurement, or a reply, read when it comes."""
        tick_ns = (
            now_ns
            + max(2 * MS, min(20 * MS, self._bucket.wait_ns(now_ns)))
            + self._chance.randrange(self._wake_late_ns)
        )
        coming = [events[0][0] for events in (self._under_way, self._replies) if events]
        own_ns = self._chance.randrange(8 * MS, 80 * MS) if self._stalls_now() else 0
        return max(now_ns, min(tick_ns, learn_ns, *coming)) + own_ns

    def _stalls_now(self) -> bool:
        return self._own_stalls and self._chance.random() < OWN_STALL_SHARE

    def _write(self, now_ns: int) -> None:
        if now_ns >= SECOND_NS:
            self._seen.written += 1
        while self._written and now_ns - self._written[0] >= SECOND_NS:
            self._written.popleft()
        self._written.append(now_ns)
        self._seen.most_written = max(self._seen.most_written, len(self._written))
        heapq.heappush(self._under_way, (now_ns + self._way(self._chance), now_ns))

    def _come_in(self, now_ns: int) -> None:
        while self._under_way and self._under_way[0][0] <= now_ns:
            arrives_ns, written_ns = heapq.heappop(self._under_way)
            if (stood_ns := self._stood(arrives_ns)) > arrives_ns:
                heapq.heappush(self._under_way, (stood_ns, written_ns))
                continue
            self._count(arrives_ns)
            heapq.heappush(self._replies, (self._stood(arrives_ns + self._work(self._chance)), written_ns))
        while self._replies and self._replies[0][0] <= now_ns:
            self._reply(now_ns, heapq.heappop(self._replies)[1])

    def _stood(self, at_ns: int) -> int:
        """The time at which an event due at `at_ns` happens: after the stall, if one is on."""
        for begin_ns, length_ns in self._stalls:
            if begin_ns <= at_ns < begin_ns + length_ns:
                return begin_ns + length_ns
        return at_ns

    def _count(self, arrives_ns: int) -> None:
        while self._window and arrives_ns - self._window[0] >= SECOND_NS:
            self._window.popleft()
        if len(self._window) < self._limit_per_s:
            self._window.append(arrives_ns)
        else:
            self._seen.throttled += 1

    def _reply(self, now_ns: int, written_ns: int) -> None:
        self._answers += 1
        counted_ns = self._estimate.counted_ns(written_ns, now_ns) if self._estimates else None
        if counted_ns is not None:
            self._bucket.count_from_arrival(written_ns, counted_ns)
        self._in_flight.observe_latency(now_ns - written_ns)
