"""The estimate of when a request reached the service, as far as its reply shows.

The service counts arrivals, not writes. A request that was held up on its way arrives in a later second than
the one in which it was written. Its reply is then unusually late, and it comes before that request's place in
the token bucket is needed again.

A late reply alone does not show where the delay arose: on the way, in the service or in this process. While
few replies are late, the way is at fault, because it holds up everything for a moment. While many are, the
service takes its time unevenly. Then a request counts as held up only if it was written while no reply came,
until one came. To count a request too late costs pace, so a budget limits how much may be added in total.
Times are integers, nanoseconds.
"""

from drumbeat.engine.core.units import SECOND_NS

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
# More late replies than this, without a silence, are those of an uneven service. Stalls of 80 ms each second
# make 5 % late, and a lognormal service half of them.
UNEVEN_SHARE = 0.2
# Late by this much, or by a sixteenth of the latency: a sigma of 0.1 makes a quarter of the replies so late.
UNEVEN_NS_MIN, _UNEVEN_SHIFT = 4_000_000, 4
# The share is that of the last 256 replies or so.
_SHARE_SHIFT, _SHARE_ONE = 8, 1 << 24
_UNEVEN = int(UNEVEN_SHARE * _SHARE_ONE)
# So many replies are due in a silence. An uneven service is silent by chance, too: at 80 a second, 8 cost
# 0.01 % of the pace and 4 would cost 0.2 %. A number of 500 a second or more bears 5.
SILENT_REPLIES, SILENT_REPLIES_FAST, FAST_PER_S = 8, 5, 500.0
SILENCE_NS_MIN = 5_000_000  # and never shorter than this
# The pacer looks at each number at least every 20 ms.
STOOD_NS_MIN = 25_000_000
SILENCES_MAX, SILENCE_KEPT_NS = 4, 4_000_000_000  # nearly every reply comes within 4 s


class ArrivalEstimate:
    """The estimate of one number. Call `learn` some times a second, `counted_ns` for each reply, in the order
    of the replies, and `awake` at each look at the number, every 20 ms at least.
    """

    __slots__ = (
        "_awake_ns",
        "_budget_ns",
        "_late_share",
        "_latency_ns",
        "_replied_ns",
        "_replies",
        "_rises",
        "_silence_ns_min",
        "_silences",
        "_slept_ns",
        "_uneven_from_ns",
        "usual_ns",
    )

    def __init__(self) -> None:
        self.usual_ns = UNKNOWN_NS  # a reply up to this late shows no delay
        self._latency_ns = self._replies = self._rises = 0
        self._budget_ns = UNKNOWN_NS
        self._late_share = 0  # of the replies that no silence explains, in parts of _SHARE_ONE
        self._silence_ns_min = self._replied_ns = UNKNOWN_NS  # `_replied_ns`: when the last reply came
        self._silences: list[tuple[int, int]] = []  # from, until; the last one first
        self._awake_ns = self._uneven_from_ns = UNKNOWN_NS
        self._slept_ns = 0  # for how long this process stood still since the last reply

    @property
    def is_uneven(self) -> bool:
        """Return whether the service takes its time unevenly, so that a late reply shows no late arrival."""
        return self._late_share > _UNEVEN

    def counted_ns(self, written_ns: int, replied_ns: int) -> int | None:
        """Return from when the request counts: its write and how long it was held up. None: its write."""
        if replied_ns - self._replied_ns > self._silence_ns_min:
            self._note_silence(replied_ns)
        self._replied_ns, self._slept_ns = replied_ns, 0
        delay_ns = replied_ns - written_ns - self.usual_ns
        if delay_ns <= self._uneven_from_ns:
            self._late_share -= self._late_share >> _SHARE_SHIFT
        elif not self._may_be_held(written_ns, delay_ns):
            self._late_share += (_SHARE_ONE - self._late_share) >> _SHARE_SHIFT
        if self._late_share > _UNEVEN:
            delay_ns = self._silent_ns(written_ns)
        if not 0 < delay_ns <= DELAY_NS_MAX or self._budget_ns <= 0:
            return None
        self._budget_ns -= delay_ns
        return written_ns + delay_ns

    def _may_be_held(self, written_ns: int, delay_ns: int) -> bool:
        """Return whether a silence explains the delay."""
        for from_ns, until_ns in self._silences:
            if written_ns >= until_ns:
                break
            if delay_ns <= until_ns - from_ns + self._uneven_from_ns:
                return True
        return False

    def _silent_ns(self, written_ns: int) -> int:
        """Return how long the silence went on in which the request was written; 0 if replies came then."""
        for from_ns, until_ns in self._silences:
            if from_ns <= written_ns < until_ns:
                return until_ns - written_ns
        return 0

    def _note_silence(self, replied_ns: int) -> None:
        """Note a silence that ends with this reply, without the time in which this process stood still."""
        self.awake(replied_ns)
        silent_ns = replied_ns - self._replied_ns - self._slept_ns
        if silent_ns <= self._silence_ns_min:
            return
        kept = [silence for silence in self._silences if replied_ns - silence[1] < SILENCE_KEPT_NS]
        if len(kept) >= SILENCES_MAX:  # after a stall, replies are rare for a moment: short silences follow
            kept.remove(min(kept, key=lambda silence: silence[1] - silence[0]))
        self._silences = [(replied_ns - silent_ns, replied_ns), *kept]

    def skip(self, replied_ns: int) -> None:
        """Note a reply that shows nothing, because it waited for this process."""
        self._replied_ns, self._slept_ns = replied_ns, 0

    def awake(self, now_ns: int) -> None:
        """Note that this process runs. While it stood still, it read no reply: that is no silence."""
        if (stood_ns := now_ns - self._awake_ns) > STOOD_NS_MIN:
            self._slept_ns += stood_ns
        self._awake_ns = now_ns

    def learn(self, replies: int, latency_ns: int, limit_per_s: float) -> None:
        """Note the replies so far. `latency_ns` is their median; 0 while it is unknown."""
        kept_ns = int(limit_per_s * BUDGET_KEPT_S * BUDGET_NS_PER_REPLY)
        self._budget_ns = min(kept_ns, self._budget_ns + (replies - self._replies) * BUDGET_NS_PER_REPLY)
        self._replies = replies
        due = SILENT_REPLIES if limit_per_s < FAST_PER_S else SILENT_REPLIES_FAST
        self._silence_ns_min = max(SILENCE_NS_MIN, int(due / limit_per_s * SECOND_NS))
        known_ns = self._latency_ns or latency_ns
        self._rises = self._rises + 1 if latency_ns > known_ns else 0
        rise_ns = known_ns >> max(0, _RISE_SHIFT - self._rises // _RISE_LOOKS)
        self._latency_ns = min(latency_ns, known_ns + rise_ns)
        self.usual_ns = self._latency_ns + USUAL_SPREAD_NS if self._latency_ns else UNKNOWN_NS
        self._uneven_from_ns = max(UNEVEN_NS_MIN, self._latency_ns >> _UNEVEN_SHIFT)
