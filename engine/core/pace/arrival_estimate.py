"""The estimate of when a request reached the service, as far as its reply shows.

The service counts arrivals, not writes. A request that was held up on its way arrives in a later second than
the one in which it was written. Its reply is then unusually late, and it comes before that request's place in
the token bucket is needed again. A late reply does not show where the delay arose: on the way, in the service
or in this process. To count a request too late costs pace, so a budget limits how much may be added in total.
Times are integers, nanoseconds.
"""

# Replies vary by this much even on an idle machine. It is below the bucket's spare (GUARD_SPARE_NS).
USUAL_SPREAD_NS = 1_000_000
# A longer delay is a pause or a slow service; what the service counted then is not known.
DELAY_NS_MAX = 500_000_000
# The budget: what a reply may add on average. Each millisecond costs 0.1 % of the pace where the delay was
# not on the way.
BUDGET_NS_PER_REPLY = 2_000_000
# Unspent budget of so many seconds is kept for a stall, enough for one of 450 ms. It costs at most 0.12 s,
# once.
BUDGET_KEPT_S = 60.0
# The usual latency falls at once. It rises by 1/1024 of itself a look, and by twice as much after each eight
# looks in a row: stalls raise the median for a moment, and a hundredfold latency is followed within eight
# seconds.
_RISE_SHIFT, _RISE_LOOKS = 10, 8
UNKNOWN_NS = 2**62


class ArrivalEstimate:
    """The estimate of one number. Call `learn` some times a second and `counted_ns` for each reply."""

    __slots__ = ("_budget_ns", "_latency_ns", "_replies", "_rises", "usual_ns")

    def __init__(self) -> None:
        self.usual_ns = UNKNOWN_NS  # a reply up to this late shows no delay
        self._latency_ns = self._replies = self._rises = 0
        self._budget_ns = UNKNOWN_NS

    def counted_ns(self, written_ns: int, replied_ns: int) -> int | None:
        """Return from when the request counts: its reply less the usual latency. None: from its write."""
        delay_ns = replied_ns - written_ns - self.usual_ns
        if not 0 < delay_ns <= DELAY_NS_MAX or self._budget_ns <= 0:
            return None
        self._budget_ns -= delay_ns
        return written_ns + delay_ns

    def learn(self, replies: int, latency_ns: int, limit_per_s: float) -> None:
        """Note the replies so far. `latency_ns` is their median; 0 while it is unknown."""
        kept_ns = int(limit_per_s * BUDGET_KEPT_S * BUDGET_NS_PER_REPLY)
        self._budget_ns = min(kept_ns, self._budget_ns + (replies - self._replies) * BUDGET_NS_PER_REPLY)
        self._replies = replies
        known_ns = self._latency_ns or latency_ns
        self._rises = self._rises + 1 if latency_ns > known_ns else 0
        rise_ns = known_ns >> max(0, _RISE_SHIFT - self._rises // _RISE_LOOKS)
        self._latency_ns = min(latency_ns, known_ns + rise_ns)
        self.usual_ns = self._latency_ns + USUAL_SPREAD_NS if self._latency_ns else UNKNOWN_NS
