"""The rate of one number, raised and lowered between a floor and its limit by the throttled replies (as AIMD
does).

Law: there is one decision a second, not one a reply. A few throttles after a long calm come from a stall and
cost no rate. If they continue, or are many, the service takes less than the limit says, and the rate falls to
what it took. It rises again on a cubic: fast while far below the last rate that failed, slowly near it, then
faster. Five minutes of throttles at the floor mean a quota, not a pace. Times are integers, nanoseconds of
one monotonic clock.
"""

from dataclasses import dataclass
from math import cbrt

from drumbeat.engine.core.pace.token_bucket import HEADROOM
from drumbeat.engine.core.units import SECOND_NS

WINDOW_NS = SECOND_NS
# The window of a slow number is longer, until it spans so many writes: one throttle of two says nothing.
WINDOW_WRITES_MIN = 5
# The service counts the old rate for one more second: throttles right after a cut say nothing about the new
# one.
SETTLE_NS = SECOND_NS
# A cut goes this far below the rate that the service took: the same headroom as below a known limit.
BACKOFF = HEADROOM
# Share of a window's writes that a stall may throttle: 100 ms on either side moves so much of a second.
# Measured on two shared cores while many numbers begin: 80 ms, and none in the next ten seconds. A service
# that does take less by this little shows in the next window, two seconds later.
STALL_SHARE = 0.1
# After so long without a throttle the next one may be a stall again. A service that takes less throttles in
# every window, and two windows with their settling time are three seconds.
CALM_NS = 4 * SECOND_NS
# Share of the limit regained per second cubed: from 80 % to the full rate in 17 s, from 96 % in 12. Against a
# simulated service that takes less than its limit, this wastes 1.1 % and meets 1.6 % of throttles.
CLIMB_PER_S3 = 1e-4
FLOOR_SHARE = 0.01
FLOOR_PER_S = 0.2  # below it, five minutes would hold too few throttles to recognise a quota
QUOTA_AFTER_S = 300.0  # protocol: five minutes at the floor
QUOTA_SUSPENSION_S = 3600.0  # a daily quota frees its first places within hours; a probe an hour is cheap
# If the service asks for a longer wait, the number is suspended, so that other numbers send meanwhile. The
# suspension is repeated only when the wait has grown by this much: each throttled reply moves it a little.
HOLD_S_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Suspension:
    """A suspension: the number stops until `until_ns`, because the service asked for it, or for a quota.

    `for_quota`: the service throttled the number at the floor for five minutes.
    """

    until_ns: int
    reason: str
    for_quota: bool = False


class RateGovernor:
    """The governor of one number. Call `throttled` for each throttled reply, `decide` some times a second."""

    def __init__(self, limit_per_s: float, now_ns: int) -> None:
        self.hold_until_ns = now_ns
        self._limit_per_s = limit_per_s
        self._ceiling = self._base = 1.0  # shares of the full rate
        self._changed_ns = now_ns
        self._window_ns: int | None = None
        self._window_throttles = 0
        self._window_ended_ns: int | None = None  # when the last window with throttles ended
        self._at_floor_ns: int | None = None  # since when it is throttled there
        self._suspended_until_ns: int | None = None  # the end that the service asked for, as last reported

    @property
    def floor_per_s(self) -> float:
        return min(self._full_per_s, max(self._full_per_s * FLOOR_SHARE, FLOOR_PER_S))

    def rate_per_s(self, now_ns: int) -> float:
        """Return the rate at this moment, between the floor and the limit's headroom."""
        return max(self.floor_per_s, self._full_per_s * self._share(now_ns))

    def is_slowed(self, now_ns: int) -> bool:
        """Return whether throttles keep the rate below the full one."""
        return self._share(now_ns) < 1.0

    def set_limit(self, limit_per_s: float, now_ns: int) -> None:
        """Set a new limit. What was learnt under the old one is forgotten."""
        self._limit_per_s = limit_per_s
        self._restart(1.0, now_ns)

    def resume(self, now_ns: int) -> None:
        """Start at the floor after a suspension. If the service named its end, continue as before."""
        if self._suspended_until_ns is None:
            self._restart(self.floor_per_s / self._full_per_s, now_ns)
        self._suspended_until_ns = None

    def throttled(self, now_ns: int, written_ns: int, wait_s: float | None = None) -> None:
        """Count a throttled reply to a request written at `written_ns`. `wait_s` is the service's hint.

        A request written before the last cut, or within SETTLE_NS after it, says nothing about the new rate.
        """
        if wait_s is not None:
            self.hold_until_ns = max(self.hold_until_ns, now_ns + int(wait_s * SECOND_NS))
        if self._window_over(now_ns):
            self._cut(now_ns)
        if self._window_ended_ns is not None and written_ns < self._window_ended_ns + SETTLE_NS:
            return
        if self._window_ns is None:
            self._window_ns = now_ns
        self._window_throttles += 1

    def decide(self, now_ns: int) -> Suspension | None:
        """Close the window if it is over, and cut the rate by its throttles. Return a due suspension."""
        if self.hold_until_ns - max(now_ns, self._suspended_until_ns or now_ns) > HOLD_S_MAX * SECOND_NS:
            self._suspended_until_ns = self.hold_until_ns
            wait_s = (self.hold_until_ns - now_ns) / SECOND_NS
            return Suspension(self.hold_until_ns, f"the service asked to wait for {wait_s:.0f} s")
        if self._window_over(now_ns):
            self._cut(now_ns)
        elif self._window_ns is None and self._calm(now_ns):
            self._at_floor_ns = None
        if self._at_floor_ns is None or now_ns - self._at_floor_ns < QUOTA_AFTER_S * SECOND_NS:
            return None
        self._at_floor_ns = None
        until_ns = now_ns + int(QUOTA_SUSPENSION_S * SECOND_NS)
        reason = f"throttled for {QUOTA_AFTER_S / 60:.0f} minutes at {self.floor_per_s:g}/s"
        return Suspension(until_ns, reason, for_quota=True)

    @property
    def _full_per_s(self) -> float:
        return self._limit_per_s * HEADROOM

    def _share(self, now_ns: int) -> float:
        """Return the share on the cubic since the last cut: from `_base`, flat at `_ceiling`, then beyond it,
        at most 1.

        While a window counts throttles, the rate does not rise.
        """
        reached_ns = now_ns if self._window_ns is None else self._window_ns
        elapsed_s = (reached_ns - self._changed_ns) / SECOND_NS
        plateau_s = cbrt((self._ceiling - self._base) / CLIMB_PER_S3)
        return min(1.0, self._ceiling + CLIMB_PER_S3 * (elapsed_s - plateau_s) ** 3)

    def _window_over(self, now_ns: int) -> bool:
        return self._window_ns is not None and now_ns - self._window_ns >= self._window_length_ns(now_ns)

    def _window_length_ns(self, now_ns: int) -> int:
        return max(WINDOW_NS, int(WINDOW_WRITES_MIN / self.rate_per_s(now_ns) * SECOND_NS))

    def _cut(self, now_ns: int) -> None:
        rate_per_s = self.rate_per_s(now_ns)
        lost = self._window_throttles
        from_a_stall = self._calm(now_ns) and lost <= max(1.0, STALL_SHARE * rate_per_s)
        lost_per_s = lost * SECOND_NS / self._window_length_ns(now_ns)
        self._window_ended_ns = now_ns
        self._window_ns, self._window_throttles = None, 0
        if from_a_stall:
            return
        floor = self.floor_per_s / self._full_per_s
        self._ceiling = max(floor, (rate_per_s - lost_per_s) / self._full_per_s)
        self._base = max(floor, self._ceiling * BACKOFF)
        self._changed_ns = now_ns
        if self._base > floor:
            self._at_floor_ns = None
        elif self._at_floor_ns is None:
            self._at_floor_ns = now_ns

    def _calm(self, now_ns: int) -> bool:
        """Return whether the last window of throttles is long past."""
        calm_ns = max(CALM_NS, 2 * self._window_length_ns(now_ns))
        return self._window_ended_ns is None or now_ns - self._window_ended_ns > calm_ns

    def _restart(self, factor: float, now_ns: int) -> None:
        self._ceiling = self._base = factor
        self._changed_ns = now_ns
        self._window_ns, self._window_throttles = None, 0
        self._window_ended_ns = self._at_floor_ns = None
