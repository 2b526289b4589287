"""The end of a campaign: a slow number leaves its last recipients to a faster idle number.

`sendable` returns the campaigns that a number, given by its phone number ID, may send at this moment.
"""

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass

# The time from the decision to the first message of the faster number: the slower one drains, its ranges are
# released, and the faster one looks for free ranges and claims.
HANDOVER_S = 2.0
# An idle number takes no range that another idle number could take whose rate is at least so many times
# higher. The rates of numbers with the same limit differ by less.
LEFT_TO_RATIO = 2.0


@dataclass(frozen=True, slots=True)
class IdleNumber:
    """A number that could send and has nothing left to send."""

    phone_number_id: str
    rate_per_s: float


def ends_sooner(unclaimed: int, rate_per_s: float, other_rate_per_s: float) -> bool:
    """Return whether another number would send `unclaimed` recipients sooner than the one that has them."""
    if other_rate_per_s <= rate_per_s:
        return False
    return unclaimed / other_rate_per_s + HANDOVER_S < unclaimed / rate_per_s


def ends_sooner_elsewhere(
    unclaimed: int,
    rate_per_s: float,
    campaigns: Set[int],
    idle: Iterable[IdleNumber],
    sendable: Callable[[str], Iterable[int]],
) -> bool:
    """Return whether one of the `idle` numbers would send the tail of a number sooner than itself.

    The tail is `unclaimed` recipients of `campaigns`.
    """
    return any(
        ends_sooner(unclaimed, rate_per_s, other.rate_per_s)
        and not campaigns.isdisjoint(sendable(other.phone_number_id))
        for other in idle
    )


def left_to_from(rate_per_s: float) -> float:
    """Return the rate from which another idle number gets the free ranges."""
    return LEFT_TO_RATIO * rate_per_s


def is_left_to_faster(
    rate_per_s: float,
    campaign_id: int,
    idle: Iterable[IdleNumber],
    sendable: Callable[[str], Iterable[int]],
) -> bool:
    """Return whether an idle number of this rate leaves the free ranges of a campaign to a faster one."""
    least_per_s = left_to_from(rate_per_s)
    return any(
        other.rate_per_s >= least_per_s and campaign_id in sendable(other.phone_number_id) for other in idle
    )


def is_wanted_elsewhere(
    phone_number_id: str,
    campaign_id: int,
    idle: Iterable[IdleNumber],
    sendable: Callable[[str], Iterable[int]],
) -> bool:
    """Return whether another number than this one is idle and could send the campaign."""
    return any(
        other.phone_number_id != phone_number_id and campaign_id in sendable(other.phone_number_id)
        for other in idle
    )
