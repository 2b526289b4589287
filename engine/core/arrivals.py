"""When a request reached the service, as far as its reply tells: it arrived between the write and the reply.

A reply later than usual may mean that its request arrived late, and it comes long before the write one limit
later is due. It does not tell where the delay arose: on the way, in the service or in our own loop. To count
such a request from its reply, less the usual time, costs pace where the delay was not on the way. So this is
rationed: of a service that is uneven by nature only the latest replies are believed to have been held up.
Times are integers, nanoseconds.
"""

from __future__ import annotations

# By so much a reply may always be later than the median: even an idle machine spreads them that far. Below
# the guard's spare, by what some replies are faster than the median.
ALLOWED_NS_MIN = 1_000_000
# Longer ones are pauses, or a service that is slow: what it counts when is anybody's guess.
HELD_UP_NS_MAX = 500_000_000
# What may be added to the times of arrival, in the mean of all replies: each millisecond takes a thousandth
# of the pace where it is not true.
ADDED_NS_MEAN = 2_000_000
# That is saved up for stalls over so long: one of 450 ms. What it may cost where it is not true, 0.12 s, it
# costs once.
SAVED_S = 60.0
# Without a ration the allowance doubles at each look; it falls by a sixteenth while an eighth is left.
_LEFT_SHIFT, _FALL_SHIFT = 3, 4
# At each look what is usual rises by a thousandth of itself, after so many in a row by twice as much: it
# follows a hundredfold latency within eight seconds. The median follows stalls, and wanders: its lower values
# bound arrivals better, since a request that took long on its way may be answered fast.
_RISE_SHIFT, _RISE_LOOKS = 10, 8
UNKNOWN_NS = 2**62


class Arrivals:
    """Of one number. `look` some times a second; `counted_ns` for each reply."""

    __slots__ = ("_allowed_ns", "_answers", "_median_ns", "_ration_ns", "_rises", "usual_ns")

    def __init__(self) -> None:
        self.usual_ns = UNKNOWN_NS  # replies up to this late tell nothing of the way
        self._allowed_ns = ALLOWED_NS_MIN
        self._answers = self._median_ns = self._rises = 0
        self._ration_ns = UNKNOWN_NS

    def counted_ns(self, written_ns: int, replied_ns: int) -> int | None:
        """From when a request counts: its reply less what is usual; None: its write."""
        added_ns = replied_ns - written_ns - self.usual_ns
        if not 0 < added_ns <= HELD_UP_NS_MAX or self._ration_ns <= 0:
            return None
        self._ration_ns -= added_ns
        return written_ns + added_ns

    def look(self, answers: int, latency_ns: int, limit_per_s: float) -> None:
        """Learn what is usual. `answers`: replies so far; `latency_ns`: their median, 0 while unknown."""
        most_ns = int(limit_per_s * SAVED_S * ADDED_NS_MEAN)
        if self._ration_ns <= 0:
            self._allowed_ns = min(self._allowed_ns << 1, HELD_UP_NS_MAX)
        elif self._ration_ns > most_ns >> _LEFT_SHIFT:
            self._allowed_ns = max(ALLOWED_NS_MIN, self._allowed_ns - (self._allowed_ns >> _FALL_SHIFT))
        self._ration_ns = min(most_ns, self._ration_ns + (answers - self._answers) * ADDED_NS_MEAN)
        self._answers = answers
        known_ns = self._median_ns or latency_ns
        self._rises = self._rises + 1 if latency_ns > known_ns else 0
        rise_ns = known_ns >> max(0, _RISE_SHIFT - self._rises // _RISE_LOOKS)
        self._median_ns = min(latency_ns, known_ns + rise_ns)
        self.usual_ns = self._median_ns + self._allowed_ns if self._median_ns else UNKNOWN_NS
