"""Whether the service stood still: for a while nothing was answered, though many requests waited for a reply.

What is written meanwhile reaches it in one moment, when it goes on, and its window of a second counts from
there. It shows in the replies of all numbers together: a service that is merely uneven goes on answering
somebody. Times are integers, nanoseconds of one monotonic clock.
"""

from __future__ import annotations

# Shorter ones are within what the pace leaves free of each second.
STANDSTILL_NS_MIN = 8_000_000
# Longer ones are pauses, or a service that is slow: what it counts when is anybody's guess.
STANDSTILL_NS_MAX = 500_000_000
# Replies that a gap must have swallowed, by those of late: by chance one of 3,000 such gaps has none.
REPLIES_MISSED_MIN = 8
# Over so long the replies of late are counted.
SPAN_NS = 250_000_000


class Standstill:
    """One for a process. `look` at every tick."""

    __slots__ = ("_answered_ns", "_answers", "_looked_ns", "_per_ns", "_span_answers", "_span_ns")

    def __init__(self, now_ns: int) -> None:
        self._answered_ns = self._looked_ns = self._span_ns = now_ns
        self._answers = self._span_answers = 0
        self._per_ns = 0.0

    def look(self, now_ns: int, answers: int, late_ns: int) -> int | None:
        """Since when the service stood still, where it goes on just now; else None.

        `answers`: replies so far; `late_ns`: by how much the latest of those since the last look came later
        than replies commonly do. Without that a gap in them is only the gap in our writing that caused it.
        """
        since_ns = None
        if answers != self._answers:
            empty_ns = self._looked_ns - self._answered_ns
            stood_ns = min(now_ns - self._answered_ns, late_ns)
            if (
                STANDSTILL_NS_MIN <= stood_ns <= STANDSTILL_NS_MAX
                and min(empty_ns, late_ns) * self._per_ns >= REPLIES_MISSED_MIN
            ):
                since_ns = now_ns - stood_ns
            self._answers, self._answered_ns = answers, now_ns
        self._looked_ns = now_ns
        if (span_ns := now_ns - self._span_ns) >= SPAN_NS:
            self._per_ns = max(0, answers - self._span_answers) / span_ns
            self._span_ns, self._span_answers = now_ns, answers
        return since_ns
