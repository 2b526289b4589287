"""What is logged of an event that comes again and again: the first one, one a minute, and its end."""

from engine.core.bucket import SECOND_NS

TELL_PERIOD_NS = 60 * SECOND_NS


class LogThrottle:
    """Counts one kind of event. One that flickers is logged no more often than one that stays."""

    def __init__(self) -> None:
        self._told_ns: int | None = None
        self._untold = 0
        self._last_ns = 0
        self.goes_on = False  # logged, and its end is not

    def count(self, now_ns: int) -> int | None:
        """One more. None: log nothing; else how many came since the last line, this one included."""
        self._untold += 1
        self._last_ns = now_ns
        if self._told_ns is not None and now_ns - self._told_ns < TELL_PERIOD_NS:
            return None
        self._told_ns = now_ns
        self.goes_on = True
        times, self._untold = self._untold, 0
        return times

    def resolve(self) -> bool:
        """The opposite count. True where that is worth a line: once after each line of the trouble."""
        told, self.goes_on = self.goes_on, False
        return told

    def resolve_if_quiet(self, now_ns: int, quiet_ns: int) -> bool:
        """As `resolve`, of what nothing is the opposite of: it did not come again for `quiet_ns`."""
        return now_ns - self._last_ns >= quiet_ns and self.resolve()
