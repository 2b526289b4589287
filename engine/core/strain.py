"""Whether the process has more to do than its core carries, as seen from its one ticker.

It decides whether latency says something of the service: in a busy loop replies wait for us, and more open
requests would only wait longer. Two signs, either is enough: ticks that come late, as where others use the
core too, and CPU that is used up. Times are integers, nanoseconds.
"""

from __future__ import annotations

# A tick this late met a loop that is behind.
LATE_NS = 4_000_000
# Looked at over so long: shorter spans are single bursts, longer ones would open connections in vain.
SPAN_NS = 50_000_000
# Of the span in CPU. A core that is full shows a little less: what waits for a reply in between is idle.
BUSY_SHARE = 0.9


class Strain:
    """One for a process. `look` at every tick."""

    __slots__ = ("_cpu_ns", "_full", "_since_ns")

    def __init__(self, now_ns: int, cpu_ns: int) -> None:
        self._since_ns, self._cpu_ns = now_ns, cpu_ns
        self._full = False

    def look(self, now_ns: int, cpu_ns: int, late_ns: int) -> bool:
        """Whether the loop is busy. `cpu_ns`: of the loop's thread so far; `late_ns`: of this tick."""
        if (span_ns := now_ns - self._since_ns) >= SPAN_NS:
            self._full = cpu_ns - self._cpu_ns >= BUSY_SHARE * span_ns
            self._since_ns, self._cpu_ns = now_ns, cpu_ns
        return self._full or late_ns >= LATE_NS
