"""The emulator's only clock. It runs with the machine's and can be advanced, so a day passes in one call."""

import time

SECOND_NS = 1_000_000_000


class Clock:
    """A clock that gives the nanoseconds of the machine's monotonic clock, plus the time that `advance`
    skipped.

    Rates, windows and due times use this clock; nothing else in the emulator reads the time.
    """

    def __init__(self) -> None:
        self._skipped_ns = 0
        self._unix_ns_at_zero = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """Return monotonic nanoseconds, which never go back."""
        return time.monotonic_ns() + self._skipped_ns

    def unix_s(self, at_ns: int | None = None) -> int:
        """Return whole seconds since 1970 at a reading of this clock (now, if none is given)."""
        reading_ns = self.now_ns() if at_ns is None else at_ns
        return (reading_ns + self._unix_ns_at_zero) // SECOND_NS

    def at_unix_s(self, unix_s: int) -> int:
        """Return the reading of this clock at a time since 1970."""
        return unix_s * SECOND_NS - self._unix_ns_at_zero

    def continue_from(self, now_ns: int, unix_s: int) -> None:
        """Continue from a reading taken elsewhere, as a restored state does."""
        self._skipped_ns = now_ns - time.monotonic_ns()
        self._unix_ns_at_zero = unix_s * SECOND_NS - now_ns

    def advance(self, seconds: float) -> None:
        """Advance the clock. ValueError for a negative step, which would break the order of the ledger."""
        if seconds < 0:
            raise ValueError("the clock only moves ahead")
        self._skipped_ns += round(seconds * SECOND_NS)

    @property
    def skipped_s(self) -> float:
        """Return the seconds by which this clock is ahead of the machine."""
        return self._skipped_ns / SECOND_NS
