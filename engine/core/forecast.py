"""How long a campaign takes, by the limits and the messaging limits of its numbers, and by its window.

Law: the numbers of a campaign end together, because recipients move from slow numbers to faster ones. So each
number sends a share that is proportional to its limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from engine.core.sending_hours import SendingHours

DAY = timedelta(hours=24)
DAYS_MAX = 3_650  # a campaign that takes longer gets no end

# Unique people whom a number may write to first in any 24 hours. None: any number of people.
TIERS: dict[str, int | None] = {
    "TIER_250": 250,
    "TIER_1K": 1_000,
    "TIER_10K": 10_000,
    "TIER_100K": 100_000,
    "TIER_UNLIMITED": None,
}


@dataclass(frozen=True, slots=True)
class NumberLimits:
    """`tier`: the messaging limit as the service lists it; None or an unknown word if it is not known."""

    phone_number_id: str
    limit_per_s: float
    tier: str | None


@dataclass(frozen=True, slots=True)
class NumberShare:
    """What one number sends. `people_per_day`: its messaging limit, None for no limit or an unknown one.

    `allowed`: whether the messaging limit allows its share within 24 hours, None if the limit is unknown.
    `days`: how many periods of 24 hours it takes at least.
    """

    phone_number_id: str
    limit_per_s: float
    tier: str | None
    recipients: int
    people_per_day: int | None
    allowed: bool | None
    days: int


def shares(recipients: int, numbers: Sequence[NumberLimits]) -> list[NumberShare]:
    """The share of each number, in whole recipients that add up."""
    total_per_s, found, given, passed_per_s = sum(number.limit_per_s for number in numbers), [], 0, 0.0
    for number in numbers[:-1]:
        passed_per_s += number.limit_per_s
        share = round(recipients * passed_per_s / total_per_s) - given
        given += share
        found.append(_share(number, share))
    return [*found, *(_share(number, recipients - given) for number in numbers[-1:])]


def _share(number: NumberLimits, recipients: int) -> NumberShare:
    people = TIERS.get(number.tier or "")
    days = 1 if people is None else max(1, -(-recipients // people))
    allowed = days == 1 if number.tier in TIERS else None
    return NumberShare(
        number.phone_number_id, number.limit_per_s, number.tier, recipients, people, allowed, days
    )


def sending_s(recipients: int, numbers: Sequence[NumberLimits]) -> float:
    """Seconds of sending at the limits of all numbers together."""
    return recipients / sum(number.limit_per_s for number in numbers)


def first_send(start: datetime, hours: SendingHours, zones: Sequence[ZoneInfo]) -> datetime | None:
    """The first moment, not before `start`, that the hours allow; None: not within a month."""
    return hours.opens_at(start, zones)


def last_send(
    start: datetime, seconds: float, hours: SendingHours, zones: Sequence[ZoneInfo]
) -> datetime | None:
    """When so many seconds of sending have passed since `start`; None if it takes more than DAYS_MAX days."""
    if seconds > DAYS_MAX * DAY.total_seconds():
        return None
    left, moment = timedelta(seconds=seconds), start
    for _ in range(DAYS_MAX):
        opens = hours.opens_at(moment, zones)
        if opens is None:
            return None
        closes = hours.closes_at(opens, zones)
        if closes is None or left <= closes - opens:
            return opens + left
        left, moment = left - (closes - opens), closes
    return None
