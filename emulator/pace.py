"""The throughput of a number: an exact sliding window over the requests that were accepted.

The window is half-open: a request is accepted if the acceptance `limit` requests before it is at least one
window old. Throttled requests do not count, so a caller who backs off is served at the full rate.
"""

import math
from collections import deque
from typing import Any

from drumbeat.emulator.clock import SECOND_NS


class SlidingWindow:
    """A window that allows at most `limit` acceptances in any `window_ns`, by the times given to `admit`.

    An integer rate of n per second is n in exactly one second. Any other rate keeps its mean, with the
    shortest window that holds a whole count (2.5/s: 3 in 1.2 s; 0.5/s: 1 in 2 s).
    """

    __slots__ = ("_accepted_ns", "largest_count", "limit", "rate_per_s", "window_ns")

    def __init__(self, rate_per_s: float) -> None:
        self._accepted_ns: deque[int] = deque()
        self.largest_count = 0
        self.set_rate(rate_per_s)

    def set_rate(self, rate_per_s: float) -> None:
        """Set the rate from the next request on. The acceptances that the window already holds stay
        counted.
        """
        if not rate_per_s > 0 or math.isinf(rate_per_s):
            raise ValueError(f"a rate is a positive number of messages per second, not {rate_per_s}")
        self.rate_per_s = rate_per_s
        self.limit = math.ceil(rate_per_s)
        self.window_ns = round(self.limit / rate_per_s * SECOND_NS)

    def full(self, now_ns: int) -> bool:
        """Return whether a request at `now_ns` would exceed the rate."""
        accepted_ns = self._accepted_ns
        oldest_kept_ns = now_ns - self.window_ns
        while accepted_ns and accepted_ns[0] <= oldest_kept_ns:
            accepted_ns.popleft()
        return len(accepted_ns) >= self.limit

    def count(self, now_ns: int) -> None:
        """Record an acceptance; call `full` with the same time first."""
        self._accepted_ns.append(now_ns)
        if len(self._accepted_ns) > self.largest_count:
            self.largest_count = len(self._accepted_ns)

    def dump(self) -> dict[str, Any]:
        """Return the state for a snapshot."""
        accepted_ns = list(self._accepted_ns)
        return {"rate_per_s": self.rate_per_s, "largest": self.largest_count, "accepted_ns": accepted_ns}

    @classmethod
    def load(cls, state: dict[str, Any]) -> "SlidingWindow":
        """Return the window of a dumped state."""
        window = cls(state["rate_per_s"])
        window.largest_count = state["largest"]
        window._accepted_ns.extend(state["accepted_ns"])
        return window

    def in_window(self, now_ns: int) -> int:
        """Return the count of acceptances in the window that ends now."""
        self.full(now_ns)
        return len(self._accepted_ns)
