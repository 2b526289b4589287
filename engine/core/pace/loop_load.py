"""Whether this process uses up its core, as its ticker sees it.

While the core is full, replies wait for this process. Then latency says nothing about the service, and more
in-flight requests would only wait longer. Times are integers, nanoseconds.
"""

from __future__ import annotations

# Shorter spans show single bursts; longer ones open connections that nobody needs.
SPAN_NS = 50_000_000
# CPU share of a span. A full core shows slightly less than 1, because the loop is idle while it waits for a
# reply.
FULL_SHARE = 0.9


class LoopLoad:
    """One for a process. Call `is_full` at every tick, with the CPU time of the loop's thread so far."""

    __slots__ = ("_cpu_ns", "_full", "_since_ns")

    def __init__(self, now_ns: int, cpu_ns: int) -> None:
        self._since_ns, self._cpu_ns = now_ns, cpu_ns
        self._full = False

    def is_full(self, now_ns: int, cpu_ns: int) -> bool:
        """Whether the last whole span used up the core."""
        if (span_ns := now_ns - self._since_ns) >= SPAN_NS:
            self._full = cpu_ns - self._cpu_ns >= FULL_SHARE * span_ns
            self._since_ns, self._cpu_ns = now_ns, cpu_ns
        return self._full
