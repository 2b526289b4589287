"""The Wilson interval: the limits between which a share lies that was counted on a sample.

Unlike the share plus or minus its deviation, it holds for few trials and for shares near 0 and 1 (Wilson,
1927; Brown, Cai and DasGupta, 2001).
"""

from math import sqrt
from typing import NamedTuple

Z_95 = 1.959964  # the normal quantile of 97.5 %: 95 of 100 such intervals hold the true share


class Interval(NamedTuple):
    """An interval from `low` to `high`, both from 0 to 1."""

    low: float
    high: float


def wilson_interval(successes: int, trials: int, z: float = Z_95) -> Interval:
    """Return the interval of a share. Without trials nothing is known: from 0 to 1."""
    if trials == 0:
        return Interval(0.0, 1.0)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return Interval(max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale))
