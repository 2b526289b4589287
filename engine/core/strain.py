"""Whether the process has more to do than its core carries, as seen from its one ticker.

It decides whether latency says something of the service: in a busy loop replies wait for us, and more open
requests would only wait longer. Two signs: ticks that come late, as where others use the core too, and CPU
that is used up. Times are integers, nanoseconds.
"""

from __future__ import annotations

from enum import IntEnum

# A tick this late met a loop that is behind.
LATE_NS = 4_000_000
# Looked at over so long: shorter spans are single bursts, longer ones would open connections in vain.
SPAN_NS = 50_000_000
# Of the span in CPU. A core that is full shows a little less: what waits for a reply in between is idle.
BUSY_SHARE = 0.9


class Load(IntEnum):
    """What a loop has to do, against what its core carries: CALM is false, both others are busy."""

    CALM = 0
    LATE = 1  # a tick came late; the core may be somebody else's at the moment
    FULL = 2  # the core is used up, by us


class Strain:
    """One for a process. `look` at every tick."""

    __slots__ = ("_cpu_ns", "_full", "_since_ns")

    def __init__(self, now_ns: int, cpu_ns: int) -> None:
        self._since_ns, self._cpu_ns = now_ns, cpu_ns
        self._full = False

    def look(self, now_ns: int, cpu_ns: int, late_ns: int) -> Load:
        """How busy the loop is. `cpu_ns`: of the loop's thread so far; `late_ns`: of this tick."""
        if (span_ns := now_ns - self._since_ns) >= SPAN_NS:
            self._full = cpu_ns - self._cpu_ns >= BUSY_SHARE * span_ns
            self._since_ns, self._cpu_ns = now_ns, cpu_ns
        if self._full:
            return Load.FULL
        return Load.LATE if late_ns >= LATE_NS else Load.CALM
