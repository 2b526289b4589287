"""The rules of a takeover: when a number may get a new owner, and the new owner's wait before its first
write.

Law: a number may be taken over if its lease has expired, its owner released it, or its owner's process is
proven dead. A claim is valid for two seconds, so the new owner waits that long, plus one second for the pace.
After a release or a proven death only that second remains. If an owner ends during its own wait, the next one
waits for the rest. If it ends before it fenced its ranges, the next one waits for the full time: an earlier
owner may still claim. Times are durations in seconds.
"""

from dataclasses import dataclass

CLAIM_VALID_S = 2.0
PACE_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class FormerOwner:
    """The former owner of a number. `epoch` is 0 if there was none. `dead`: its process is proven dead.

    `past_lease_s` counts from when its lease expired, or from when it `released` the number. `fence_missing`:
    it took over from an owner that may still claim, and has not fenced its ranges. `no_send_s` is the rest of
    the wait that began when it fenced them.
    """

    epoch: int
    released: bool
    dead: bool
    lease_runs: bool
    past_lease_s: float | None
    fence_missing: bool
    no_send_s: float

    @property
    def holds(self) -> bool:
        """Return whether the former owner still owns the number, so that nobody may take it over."""
        return self.lease_runs and not (self.released or self.dead)

    @property
    def may_claim(self) -> bool:
        """Return whether the former owner may still claim, until its ranges are fenced: nothing proves its
        end.
        """
        return not (self.released or self.dead or self.epoch == 0)

    @property
    def wait_s(self) -> float:
        """Return how long the next owner waits before its first write, in seconds."""
        if self.fence_missing or self.may_claim:
            return max(self.no_send_s, CLAIM_VALID_S + PACE_WINDOW_S)
        if self.epoch == 0:
            return 0.0
        past_s = (self.past_lease_s or 0.0) if self.released else 0.0
        return max(0.0, self.no_send_s, PACE_WINDOW_S - past_s)
