"""Stops claims while the service is away, or says that it is down: neither retries nor doubts pile up."""

from engine.backoff import wait_s
from engine.clock import SECOND_NS
from engine.core.outcome import Accepted, NotSent, Outcome, Rejected, Throttled, Transient
from engine.core.retry import Wait

# One broken connection is an accident; this many in a row is an outage.
BREAKS_IN_A_ROW = 5
# A service that is down may still answer. Fewer are a recipient's own or two: each meets at most five.
FAILURES_IN_A_ROW = 20
OPEN_S_MIN = 0.2
# Longer than nearly every downtime. After it a recipient's tries are its own again: a few whom the service
# fails for ever, the last of their campaign, would look like a downtime without end.
DOWNTIME_S_MAX = 3600.0


class Breaker:
    """Open while the service is away. After each wait a single message finds out whether it is back."""

    def __init__(self) -> None:
        self.failures = 0  # since the service last decided on a message: breaks, and failures that it named
        self._breaks = 0  # of them, since it last answered
        self._named_ns = 0  # when it named the first of them
        self._openings = 0
        self._closed_again_ns = 0
        self._asked_until_ns = 0  # by the service: it does not want to be tried before
        self.reason = ""

    @property
    def suspicious(self) -> bool:
        """Whether the last attempts failed: claim one message at a time until one succeeds."""
        return self._breaks >= BREAKS_IN_A_ROW or self.failures >= FAILURES_IN_A_ROW

    def is_open(self, now_ns: int) -> bool:
        return now_ns < self._closed_again_ns or (self.suspicious and now_ns < self._asked_until_ns)

    def is_downtime(self, now_ns: int) -> bool:
        """Whether a failure that the service names is its own, and not the recipient's."""
        return self.suspicious and now_ns - self._named_ns < DOWNTIME_S_MAX * SECOND_NS

    def record(self, outcome: Outcome, now_ns: int) -> bool:
        """Count an outcome; True when it opens the breaker."""
        was_open = self.is_open(now_ns)
        match outcome:
            case Accepted() | Rejected():
                self.failures = self._breaks = self._named_ns = self._openings = self._asked_until_ns = 0
                return False
            case Throttled():
                self._breaks = 0  # it answers, and decides on nobody
                return False
            case NotSent(unreachable=False):
                return False  # ours: it tells nothing about the service
            case Transient():
                self._named_ns = self._named_ns or now_ns
                wait_asked_s = min(outcome.wait_s or 0.0, DOWNTIME_S_MAX)
                self._asked_until_ns = max(self._asked_until_ns, now_ns + int(wait_asked_s * SECOND_NS))
                reason = f"{outcome.detail} ({outcome.code})"
            case _:
                self._breaks += 1
                reason = outcome.reason
        self.failures += 1
        if not self.suspicious or was_open:
            return False
        self._open(reason, now_ns)
        return True

    def _open(self, reason: str, now_ns: int) -> None:
        self._openings += 1
        self.reason = reason
        open_s = max(OPEN_S_MIN, wait_s(Wait.UNREACHABLE, self._openings))
        self._closed_again_ns = now_ns + int(open_s * SECOND_NS)
