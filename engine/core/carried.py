"""How many open requests a service carries, by what it answers.

Rate times latency alone would give a service that queues what it cannot answer ever more: each further
request makes all of them wait longer, and a longer latency asks for more requests, until all run out of time
together and are in doubt. So no more may be open than it answers, at the rate of the last two seconds, within
twice the longest latency that is believed. Times are integers, nanoseconds.
"""

from __future__ import annotations

from collections import deque

from engine.core.bucket import SECOND_NS

# Twice the longest latency for which requests are opened: a service as slow as that still finds room to grow.
# A queue this long is far from the half minute after which a reply is given up.
CARRIED_S = 8.0
# Replies are counted over two seconds: a stall of some tenths changes little, a slump is known soon.
SLOT_NS = SECOND_NS // 4
SLOTS = 8
UNBOUNDED = 2**31


class Carried:
    """Of one number. `replied` for what was answered, `rests` when nothing is under way, `most` to open."""

    __slots__ = ("_limit_per_s", "_replies", "_since_ns", "_slot_ns")

    def __init__(self) -> None:
        self._replies: deque[float] = deque([0.0], maxlen=SLOTS)  # the last slot is the present one
        self._slot_ns = 0  # when it began
        self._since_ns: int | None = None  # the first reply since nothing was under way
        self._limit_per_s: float | None = None  # under which they came

    def replied(self, now_ns: int, replies: int) -> None:
        """So many replies came since the last call."""
        if self._since_ns is None:
            self._since_ns = self._slot_ns = now_ns
            self._replies.clear()
            self._replies.append(0.0)
        self._turn(now_ns)
        self._replies[-1] += replies

    def rests(self) -> None:
        """Nothing is under way: what comes next may find another service."""
        self._since_ns = None

    def most(self, now_ns: int, limit_per_s: float) -> int:
        """How many may be open; unbounded until a service of which nothing is known has replied for a while.

        What a service answered under one limit it is believed to answer, in proportion, under another.
        """
        if self._limit_per_s is not None and limit_per_s != self._limit_per_s:
            ratio = limit_per_s / self._limit_per_s
            self._replies = deque((count * ratio for count in self._replies), maxlen=SLOTS)
        self._limit_per_s = limit_per_s
        if self._since_ns is None or now_ns - self._since_ns < SLOT_NS:
            return UNBOUNDED
        self._turn(now_ns)
        span_ns = (len(self._replies) - 1) * SLOT_NS + now_ns - self._slot_ns
        return int(sum(self._replies) * CARRIED_S * SECOND_NS / span_ns)

    def _turn(self, now_ns: int) -> None:
        """Begin the slots that have come since."""
        slots = (now_ns - self._slot_ns) // SLOT_NS
        if slots > 0:
            self._replies.extend([0.0] * min(slots, SLOTS))
            self._slot_ns += slots * SLOT_NS
