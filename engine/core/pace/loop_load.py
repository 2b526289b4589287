"""The load of this process: whether it has more to do than its core carries, as its ticker sees it.

In a busy loop, replies wait for this process. Then latency says nothing about the service, and more in-flight
requests would only wait longer. Times are integers, nanoseconds.
"""

from __future__ import annotations

from enum import IntEnum

# A tick this late shows that the loop is behind. On a shared core that is the only sign.
LATE_NS = 4_000_000
# Shorter spans of CPU time show single bursts; longer ones open connections that nobody needs.
SPAN_NS = 50_000_000
# CPU share of a span. A full core shows slightly less than 1, because the loop is idle while it waits for a
# reply.
FULL_SHARE = 0.9


class Busyness(IntEnum):
    """The busyness of the loop: its work, compared with what its core carries. Only CALM is false."""

    CALM = 0
    LATE = 1  # a tick was late; another process may use the core at the moment
    FULL = 2  # this process uses up the core


class LoopLoad:
    """The load of one process. Call `observe` at every tick."""

    __slots__ = ("_cpu_ns", "_full", "_since_ns")

    def __init__(self, now_ns: int, cpu_ns: int) -> None:
        self._since_ns, self._cpu_ns = now_ns, cpu_ns
        self._full = False

    def observe(self, now_ns: int, cpu_ns: int, late_ns: int) -> Busyness:
        """Return how busy the loop is, by this tick and by the CPU time of the last whole span.

        The tick is late by `late_ns`. `cpu_ns` is the CPU time of the loop's thread so far.
        """
        if (span_ns := now_ns - self._since_ns) >= SPAN_NS:
            self._full = cpu_ns - self._cpu_ns >= FULL_SHARE * span_ns
            self._since_ns, self._cpu_ns = now_ns, cpu_ns
        if self._full:
            return Busyness.FULL
        return Busyness.LATE if late_ns >= LATE_NS else Busyness.CALM
