"""The occurrences of a repeated event that are logged: the first, then one a minute, and the end."""

from drumbeat.engine.core.units import SECOND_NS

LOG_PERIOD_NS = 60 * SECOND_NS


class LogThrottle:
    """A counter of one kind of event. One that comes and goes is logged no more often than one that stays."""

    def __init__(self) -> None:
        self._logged_ns: int | None = None
        self._unlogged = 0
        self._last_ns = 0
        self.is_reported = False  # the event is logged, and its end is not

    def count(self, now_ns: int) -> int | None:
        """Count one occurrence. Return None if it is not to be logged.

        Otherwise return the occurrences since the last line, this one included.
        """
        self._unlogged += 1
        self._last_ns = now_ns
        if self._logged_ns is not None and now_ns - self._logged_ns < LOG_PERIOD_NS:
            return None
        self._logged_ns = now_ns
        self.is_reported = True
        times, self._unlogged = self._unlogged, 0
        return times

    def resolve(self) -> bool:
        """Note that the event ended. True if the end must be logged: once after each logged occurrence."""
        was_reported, self.is_reported = self.is_reported, False
        return was_reported

    def resolve_if_quiet(self, now_ns: int, quiet_ns: int) -> bool:
        """Call `resolve` for an event whose end nobody sees. It ended if it did not occur for `quiet_ns`."""
        return now_ns - self._last_ns >= quiet_ns and self.resolve()
