"""The circuit breaker: it stops claims while the service is away, so that few recipients retry or are in
doubt.

Times are integers, nanoseconds of one monotonic clock. The length of a wait is an argument of the
constructor.
"""

from collections.abc import Callable

from drumbeat.engine.core.outcome import Accepted, NotSent, Outcome, Rejected, Throttled, Transient
from drumbeat.engine.core.units import SECOND_NS

# One broken connection is an accident; this many in a row are an outage.
BREAKS_IN_A_ROW = 5
# A service that is down may still answer. One recipient causes at most five failures, so at least this many
# cannot come from one or two recipients.
FAILURES_IN_A_ROW = 20
OPEN_S_MIN = 0.2
# Longer than nearly every downtime. After it, failures count against their recipients again: otherwise a few
# recipients that the service always fails, the last of their campaign, would look like an endless downtime.
DOWNTIME_S_MAX = 3600.0


class CircuitBreaker:
    """The breaker of a process. It is open while the service is away. After each wait, one message probes the
    service.

    `open_wait_s(n)` is how many seconds to wait after the n-th opening in a row, from 1.
    """

    def __init__(self, open_wait_s: Callable[[int], float]) -> None:
        self.reason = ""
        self.failures = 0  # breaks and reported failures, since the service last decided on a message
        self._breaks = 0  # of them, since the service last answered
        self._reported_ns = 0  # when it reported the first of them
        self._openings = 0
        self._open_until_ns = 0
        self._retry_after_ns = 0  # the service asked not to be tried earlier
        self._open_wait_s = open_wait_s

    @property
    def tripped(self) -> bool:
        """Return whether the last attempts failed. Then claim one message at a time until one succeeds."""
        return self._breaks >= BREAKS_IN_A_ROW or self.failures >= FAILURES_IN_A_ROW

    def is_open(self, now_ns: int) -> bool:
        return now_ns < self._open_until_ns or (self.tripped and now_ns < self._retry_after_ns)

    def is_downtime(self, now_ns: int) -> bool:
        """Return whether a failure that the service reports is its own, and not the recipient's."""
        return self.tripped and now_ns - self._reported_ns < DOWNTIME_S_MAX * SECOND_NS

    def record(self, outcome: Outcome, now_ns: int) -> bool:
        """Count an outcome. True if it opens the breaker."""
        was_open = self.is_open(now_ns)
        match outcome:
            case Accepted() | Rejected():
                self.failures = self._breaks = self._reported_ns = self._openings = self._retry_after_ns = 0
                return False
            case Throttled():
                self._breaks = 0  # an answer, but no decision on a message
                return False
            case NotSent(unreachable=False):
                return False  # this process did not send: it says nothing about the service
            case Transient():
                self._reported_ns = self._reported_ns or now_ns
                wait_asked_s = min(outcome.wait_s or 0.0, DOWNTIME_S_MAX)
                self._retry_after_ns = max(self._retry_after_ns, now_ns + int(wait_asked_s * SECOND_NS))
                reason = f"{outcome.detail} ({outcome.code})"
            case _:
                self._breaks += 1
                reason = outcome.reason
        self.failures += 1
        if not self.tripped or was_open:
            return False
        self._open(reason, now_ns)
        return True

    def _open(self, reason: str, now_ns: int) -> None:
        self._openings += 1
        self.reason = reason
        open_s = max(OPEN_S_MIN, self._open_wait_s(self._openings))
        self._open_until_ns = now_ns + int(open_s * SECOND_NS)
