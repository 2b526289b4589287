"""How far this host's wall clock is from the database's. Times that are stored are corrected by it.

Law: nothing is decided by a host's wall clock. It only stamps what was written and when, at each message. A
skew below a second is left alone: correcting it would move the stamps of one number against each other.

A corrected clock is still late by up to half of the time that the look took: 4 to 20 ms were seen. The
database's time is taken when the statement begins, and a connection prepares a statement before its first
use. So the time is taken near the end of the look, not in its middle. The error is a constant of the process.
It suffices for times that people read. Stamps of two hosts tell nothing shorter about their messages.
"""

TOLERANCE_NS = 1_000_000_000


class ClockSkew:
    """`skew_ns` is added to this host's wall clock; 0 unless the clock is wrong by more than a second.

    `stamp_offset_ns` is added to the monotonic clock; the sum is the time that is stored.
    """

    def __init__(self, stamp_offset_ns: int = 0) -> None:
        self.skew_ns = 0
        self.stamp_offset_ns = stamp_offset_ns

    def compare(self, before_ns: int, database_ns: int, after_ns: int) -> bool:
        """Compare with the database's time, read between two looks at our clock; True if the skew changed.

        A long time between the two looks proves nothing: the process may have been frozen.
        """
        earliest_ns = before_ns + self.skew_ns - TOLERANCE_NS
        latest_ns = after_ns + self.skew_ns + TOLERANCE_NS
        if earliest_ns <= database_ns <= latest_ns:
            return False
        skew_ns = database_ns - (before_ns + after_ns) // 2
        self.skew_ns = skew_ns if abs(skew_ns) > TOLERANCE_NS else 0
        return True
