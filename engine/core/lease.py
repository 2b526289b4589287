"""Who may take over a number, and how long the new owner waits before its first write.

Law: a number may be taken over if its lease has ended, if its former owner released it, or if that owner's
process is proven dead. A claim is a permit of two seconds, so a new owner waits that long, plus the second of
the pace. After a release or a proven death only the second remains. If an owner ends during its own wait, the
next one waits the rest of it. If it ends before it fenced its ranges, the next one waits the full time: until
then an earlier owner may still claim. Times are lengths, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

PERMIT_S = 2.0
PACE_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class FormerOwner:
    """The last owner of a number. `epoch` 0: nobody ever owned it. `dead`: its process is proven dead.

    `past_lease_s`: since its lease ended, or since it `released` the number. `fence_missing`: it took the
    number over from an owner that may still claim, and has not fenced its ranges. `no_send_s`: what is left
    of its own wait.
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
        """Whether nobody else may take the number."""
        return self.lease_runs and not (self.released or self.dead)

    @property
    def may_claim(self) -> bool:
        """Whether it may claim until its ranges are fenced: nothing proves that it has ended."""
        return not (self.released or self.dead or self.epoch == 0)

    @property
    def wait_s(self) -> float:
        """How long the next owner waits."""
        if self.fence_missing or self.may_claim:
            return max(self.no_send_s, PERMIT_S + PACE_WINDOW_S)
        if self.epoch == 0:
            return 0.0
        past_s = (self.past_lease_s or 0.0) if self.released else 0.0
        return max(0.0, self.no_send_s, PACE_WINDOW_S - past_s)
