"""The percentiles of durations, which are counted in steps, so that any number of them takes little memory.

Step n holds the durations from 1.05ⁿ up to 1.05ⁿ⁺¹ seconds. The database counts them; a percentile is exact
within 5 %.
"""

from collections.abc import Mapping

STEP = 1.05


def percentile_s(steps: Mapping[int, int], share: float) -> float | None:
    """Return the duration in seconds that this share of all does not exceed; None if there is none."""
    rest = share * sum(steps.values())
    for step, count in sorted(steps.items()):
        rest -= count
        if rest <= 0 < count:
            return float(STEP ** (step + 0.5))
    return None
