"""Stops claims while the service does not answer, so that neither retries nor doubts pile up."""

from engine.backoff import wait_s
from engine.clock import SECOND_NS
from engine.core.outcome import NotSent, Outcome, Unknown
from engine.core.retry import Wait

# One broken connection is an accident; this many in a row is an outage.
FAILURES_IN_A_ROW = 5
_FAILURES = (NotSent, Unknown)


class Breaker:
    """Open while the service is away. After each wait a single message finds out whether it is back."""

    def __init__(self) -> None:
        self.failures = 0  # in a row
        self._openings = 0
        self._closed_again_ns = 0
        self.reason = ""

    @property
    def suspicious(self) -> bool:
        """Whether the last attempts failed: claim one message at a time until one succeeds."""
        return self.failures >= FAILURES_IN_A_ROW

    def is_open(self, now_ns: int) -> bool:
        return now_ns < self._closed_again_ns

    def record(self, outcome: Outcome, now_ns: int) -> bool:
        """Count an outcome; True when it opens the breaker."""
        if isinstance(outcome, NotSent) and not outcome.unreachable:
            return False  # ours: it tells nothing about the service
        if not isinstance(outcome, _FAILURES):
            self.failures = self._openings = 0
            return False
        self.failures += 1
        if not self.suspicious or self.is_open(now_ns):
            return False
        self._openings += 1
        self.reason = outcome.reason
        self._closed_again_ns = now_ns + int(max(0.2, wait_s(Wait.UNREACHABLE, self._openings)) * SECOND_NS)
        return True
