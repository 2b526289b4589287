"""Who may take over a number, and how long the new owner waits before its first write.

Law: taking over needs the lease to have run out, or the former owner's clean release, or proof that its
process is dead. A claim is valid for two seconds, so a new owner waits that long, plus the pace's second;
after a clean release or a proven death only the second remains. An owner that ends inside its own wait leaves
the rest of it to the next one, and one that ends before it stamped its ranges leaves all of it: until then
whoever came before may still claim. Times are lengths, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

CLAIM_VALID_S = 2.0
PACE_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True)
class FormerOwner:
    """Of a number. `epoch` 0: nobody ever owned it. `dead`: proven.

    `past_lease_s`: since its lease ran out, or since it `released` the number. `unstamped`: it took over from
    somebody who may still claim, and has not stamped its ranges; `quiet_s`: what is left of the wait that it
    began when it had.
    """

    epoch: int
    released: bool
    dead: bool
    lease_runs: bool
    past_lease_s: float | None
    unstamped: bool
    quiet_s: float

    @property
    def holds(self) -> bool:
        """Whether the number is its own: nobody may take it."""
        return self.lease_runs and not (self.released or self.dead)

    @property
    def may_claim(self) -> bool:
        """Whether it may claim until its ranges have a new epoch: nothing proves that it has ended."""
        return not (self.released or self.dead or self.epoch == 0)

    @property
    def wait_s(self) -> float:
        """How long the next owner waits."""
        if self.unstamped or self.may_claim:
            return max(self.quiet_s, CLAIM_VALID_S + PACE_WINDOW_S)
        if self.epoch == 0:
            return 0.0
        past_s = (self.past_lease_s or 0.0) if self.released else 0.0
        return max(0.0, self.quiet_s, PACE_WINDOW_S - past_s)
