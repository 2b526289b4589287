"""A service that judges by an exact sliding second, and a client that a bucket and a governor pace."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from drumbeat.engine.core.pace.rate_governor import RateGovernor, Suspension
from drumbeat.engine.core.pace.token_bucket import TokenBucket
from drumbeat.engine.core.units import SECOND_NS

LATENCY_NS = 50_000_000
JITTER_NS = 3_000_000
DECIDE_EVERY_NS = 50_000_000


@dataclass
class Second:
    accepted: int = 0
    throttled: int = 0
    rate_per_s: float = 0.0


class Simulation:
    """A believed limit against a true one, in virtual time. `seconds`: the counts of each second."""

    def __init__(self, believed_per_s: float, true_per_s: Callable[[float], float], seed: int = 1) -> None:
        self.seconds: list[Second] = []
        self.suspended: tuple[float, Suspension] | None = None
        self._true_per_s = true_per_s
        self._chance = random.Random(seed)
        self._bucket = TokenBucket(believed_per_s, 0)
        self._governor = RateGovernor(believed_per_s, 0)
        self._window: deque[int] = deque()
        self._replies: deque[tuple[int, int]] = deque()

    def run(self, seconds: int) -> Simulation:
        for now_ns in self._wakeups(seconds * SECOND_NS):
            while self._replies and self._replies[0][0] <= now_ns:
                self._governor.throttled(now_ns, self._replies.popleft()[1])
            if self._bucket.take(now_ns):
                self._arrive(now_ns)
            if self.suspended is not None:
                break
        return self

    def _wakeups(self, end_ns: int) -> Iterator[int]:
        now_ns = decide_ns = 0
        while now_ns < end_ns:
            if now_ns >= decide_ns:
                self._decide(now_ns)
                decide_ns = now_ns + DECIDE_EVERY_NS
            yield now_ns
            late_ns = self._chance.choice((0, self._chance.randrange(500_000)))
            now_ns = min(now_ns + max(1, self._bucket.wait_ns(now_ns)), decide_ns) + late_ns

    def _decide(self, now_ns: int) -> None:
        suspend = self._governor.decide(now_ns)
        if suspend is not None:
            self.suspended = (now_ns / SECOND_NS, suspend)
        rate_per_s = self._governor.rate_per_s(now_ns)
        self._bucket.set_rate(rate_per_s, now_ns)
        while len(self.seconds) <= now_ns // SECOND_NS:
            self.seconds.append(Second(rate_per_s=rate_per_s))

    def _arrive(self, now_ns: int) -> None:
        arrives_ns = now_ns + self._chance.randrange(JITTER_NS)
        while self._window and arrives_ns - self._window[0] >= SECOND_NS:
            self._window.popleft()
        if len(self._window) < self._true_per_s(now_ns / SECOND_NS):
            self._window.append(arrives_ns)
            self.seconds[-1].accepted += 1
        else:
            self._replies.append((now_ns + LATENCY_NS, now_ns))
            self.seconds[-1].throttled += 1
