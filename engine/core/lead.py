"""How far the watermark of a number runs ahead of its sender.

Far enough that a claim never waits for a commit, and no further than what is claimed can be written before
its claim, a permit of two seconds, runs out. Times are integers, nanoseconds.
"""

from collections import deque
from math import ceil

from engine.core.bucket import SECOND_NS

LEAD_S = 0.25  # of the rate
# At least so much of the rate, however slowly messages get written.
LEAD_S_MIN = 0.05
# Seconds of what really gets written: a quarter of the permit, because writes come in bursts.
WRITTEN_S = 0.5
MEASURE_NS = SECOND_NS // 4
# Measures of a whole second: the service and the database work in bursts. With a single measure 6 to 11 of
# 100 claims run out before they are written; over a second 4 to 8 do.
MEASURES = 4


class Lead:
    """Of one number. Begins with half of its lead: what gets written is not known yet."""

    __slots__ = ("_measured_ns", "_writes", "_written_per_s")

    def __init__(self, limit_per_s: float, now_ns: int) -> None:
        self._measured_ns, self._writes = now_ns, 0
        self._written_per_s = deque([limit_per_s / 4] * MEASURES, maxlen=MEASURES)

    def measure(self, writes: int, now_ns: int) -> None:
        """`writes`: how many messages were written so far. To be called a few times a second."""
        elapsed_ns = now_ns - self._measured_ns
        if elapsed_ns >= MEASURE_NS:
            self._written_per_s.append((writes - self._writes) * SECOND_NS / elapsed_ns)
            self._measured_ns, self._writes = now_ns, writes

    def messages(self, rate_per_s: float) -> int:
        """How many messages may be claimed ahead, at least one."""
        written_per_s = sum(self._written_per_s) / MEASURES
        lead_s = min(LEAD_S, max(LEAD_S_MIN, WRITTEN_S * written_per_s / rate_per_s))
        return ceil(rate_per_s * lead_s)
