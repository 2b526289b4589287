"""The claim-ahead of a number: how far its watermark runs ahead of its sender.

It is far enough that the sender never waits for a claim's commit, and no further than the sender writes
before a claim loses its validity (`CLAIM_VALID_S`). Times are integers, nanoseconds.
"""

from collections import deque
from math import ceil

from drumbeat.engine.core.units import SECOND_NS

AHEAD_S = 0.25  # seconds of the rate
AHEAD_S_MIN = 0.05  # seconds of the rate, however slowly messages are written
# Seconds of the measured write rate: a quarter of a claim's validity, because writes come in
# bursts.
WRITTEN_S = 0.5
SPAN_NS = SECOND_NS // 4
# The spans together make a second, because service and database work in bursts. Where the service takes less
# than the rate, 6 to 11 of 100 claims expire unwritten with a single span, and 4 to 8 with a second.
SPANS = 4


class ClaimAhead:
    """The claim-ahead of one number. It starts with half of AHEAD_S, as the write rate is not known yet."""

    __slots__ = ("_measured_ns", "_writes", "_written_per_s")

    def __init__(self, limit_per_s: float, now_ns: int) -> None:
        self._measured_ns, self._writes = now_ns, 0
        self._written_per_s = deque([limit_per_s / 4] * SPANS, maxlen=SPANS)

    def measure(self, writes: int, now_ns: int) -> None:
        """Note the messages written so far. Call it a few times a second."""
        elapsed_ns = now_ns - self._measured_ns
        if elapsed_ns >= SPAN_NS:
            self._written_per_s.append((writes - self._writes) * SECOND_NS / elapsed_ns)
            self._measured_ns, self._writes = now_ns, writes

    def messages(self, rate_per_s: float) -> int:
        """Return how many messages may be claimed and not yet written: at least one."""
        written_per_s = sum(self._written_per_s) / SPANS
        ahead_s = min(AHEAD_S, max(AHEAD_S_MIN, WRITTEN_S * written_per_s / rate_per_s))
        return ceil(rate_per_s * ahead_s)
