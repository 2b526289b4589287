"""The end of a campaign: a slow number leaves its last recipients to a faster idle number."""

# The time from the decision to the first message of the faster number: the slower one drains, its ranges are
# released, and the faster one looks for free ranges and claims.
HANDOVER_S = 2.0
# An idle number takes no range that another idle number could take whose rate is at least so many times
# higher. The rates of numbers with the same limit differ by less.
LEFT_TO_RATIO = 2.0


def ends_sooner(unclaimed: int, rate_per_s: float, other_rate_per_s: float) -> bool:
    """Return whether another number would send `unclaimed` recipients sooner than the one that has them."""
    if other_rate_per_s <= rate_per_s:
        return False
    return unclaimed / other_rate_per_s + HANDOVER_S < unclaimed / rate_per_s


def left_to_from(rate_per_s: float) -> float:
    """Return the rate from which another idle number gets the free ranges."""
    return LEFT_TO_RATIO * rate_per_s
