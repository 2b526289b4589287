"""What is told of an event that comes again and again: the first, then one a minute, and that it is over."""

from engine.core.bucket import SECOND_NS

TELL_PERIOD_NS = 60 * SECOND_NS


class Repeats:
    """Counts one kind of event. Whoever flickers is told of no more often than whoever stays away."""

    def __init__(self, period_ns: int = TELL_PERIOD_NS) -> None:
        self._period_ns = period_ns
        self._told_ns: int | None = None
        self._untold = 0
        self._last_ns = 0
        self.goes_on = False  # told of, and not told to be over

    def happened(self, now_ns: int) -> int | None:
        """One more. None: say nothing; else how many came since the last telling, this one included."""
        self._untold += 1
        self._last_ns = now_ns
        if self._told_ns is not None and now_ns - self._told_ns < self._period_ns:
            return None
        self._told_ns = now_ns
        self.goes_on = True
        times, self._untold = self._untold, 0
        return times

    def is_over(self) -> bool:
        """The opposite happened. True where that is worth a line: once for each telling."""
        told, self.goes_on = self.goes_on, False
        return told

    def has_ceased(self, now_ns: int, quiet_ns: int) -> bool:
        """As `is_over`, of what nothing is the opposite of: it did not come again for `quiet_ns`."""
        return self.goes_on and now_ns - self._last_ns >= quiet_ns and self.is_over()
