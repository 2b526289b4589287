"""The rate at which one number sends, measured by its writes of the last seconds. Times are nanoseconds."""

from collections import deque

from drumbeat.engine.core.units import SECOND_NS

# Long enough for a number of one message a second, short enough to show soon that writes stopped.
WINDOW_NS = 5 * SECOND_NS
SAMPLE_NS = SECOND_NS // 2


class AchievedRate:
    """The measured rate of one number. It shows 0 once nothing was written for WINDOW_NS."""

    __slots__ = ("_samples",)

    def __init__(self, now_ns: int) -> None:
        self._samples = deque([(now_ns, 0)])  # the time, and how many messages were written by then

    def measure(self, writes: int, now_ns: int) -> None:
        """Note the messages written so far. Call it a few times a second."""
        samples = self._samples
        if now_ns - samples[-1][0] < SAMPLE_NS:
            return
        samples.append((now_ns, writes))
        while now_ns - samples[1][0] >= WINDOW_NS:
            samples.popleft()

    def per_s(self, writes: int, now_ns: int) -> float:
        """Return messages per second of the window; in its first second, as if a second had passed."""
        began_ns, before = self._samples[0]
        return (writes - before) * SECOND_NS / max(now_ns - began_ns, SECOND_NS)
