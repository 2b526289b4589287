"""Whether this process has more to do than its core carries, as its ticker sees it.

In a busy loop, replies wait for this process. Then latency says nothing about the service, and more in-flight
requests would only wait longer. Times are integers, nanoseconds.
"""

# A tick this late met a loop that is behind. On a shared core that is the only sign.
LATE_NS = 4_000_000
# Shorter spans of CPU time show single bursts; longer ones open connections that nobody needs.
SPAN_NS = 50_000_000
# CPU share of a span. A full core shows slightly less than 1, because the loop is idle while it waits for a
# reply.
FULL_SHARE = 0.9


class LoopLoad:
    """One for a process. Call `is_busy` at every tick."""

    __slots__ = ("_cpu_ns", "_full", "_since_ns")

    def __init__(self, now_ns: int, cpu_ns: int) -> None:
        self._since_ns, self._cpu_ns = now_ns, cpu_ns
        self._full = False

    def is_busy(self, now_ns: int, cpu_ns: int, late_ns: int) -> bool:
        """Whether this tick is late by `late_ns`, or the last whole span used up the core.

        `cpu_ns`: CPU time of the loop's thread so far.
        """
        if (span_ns := now_ns - self._since_ns) >= SPAN_NS:
            self._full = cpu_ns - self._cpu_ns >= FULL_SHARE * span_ns
            self._since_ns, self._cpu_ns = now_ns, cpu_ns
        return self._full or late_ns >= LATE_NS
