"""The difference between this host's wall clock and the database's. Stored times are corrected by it.

Law: no decision depends on a host's wall clock. The clock only stamps each message with the time of its
write. A skew below a second is left alone: correcting it would move the stamps of one number against each
other.

A corrected clock is still late by up to half of the time that the look took: 4 to 20 ms were seen. The
database's time is taken when the statement begins, and a connection prepares a statement before its first
use. So the time is taken near the end of the look, not in its middle. The error is a constant of the process.
It suffices for times that people read. If stamps of two hosts differ by less than that, they do not show
which of two messages came first.
"""

TOLERANCE_NS = 1_000_000_000


class ClockSkew:
    """The correction of this host's clock. `skew_ns` is added to the wall clock; it is 0 unless the clock is
    wrong by more than a second.

    `stamp_offset_ns` is added to the monotonic clock; the sum is the time that is stored.
    """

    def __init__(self, stamp_offset_ns: int = 0) -> None:
        self.skew_ns = 0
        self.stamp_offset_ns = stamp_offset_ns

    def compare(self, before_ns: int, database_ns: int, after_ns: int) -> bool:
        """Compare with the database's time, read between two looks at our clock; True if the skew changed.

        The comparison allows for the time between the two looks, because the process may have been frozen
        between them.
        """
        earliest_ns = before_ns + self.skew_ns - TOLERANCE_NS
        latest_ns = after_ns + self.skew_ns + TOLERANCE_NS
        if earliest_ns <= database_ns <= latest_ns:
            return False
        skew_ns = database_ns - (before_ns + after_ns) // 2
        self.skew_ns = skew_ns if abs(skew_ns) > TOLERANCE_NS else 0
        return True
