"""The forecast of how long a campaign takes, by its numbers' rates and messaging limits, and by its window.

Law: the numbers of a campaign end together, because recipients move from slow numbers to faster ones. So each
number sends a share that is proportional to its limit, but no more than its messaging limit allows in the
least periods of 24 hours that all of them together need.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from zoneinfo import ZoneInfo

from drumbeat.engine.core.limits.quota import QuotaScope, limits
from drumbeat.engine.core.limits.sending_hours import SendingHours
from drumbeat.engine.core.limits.tier import SaidTier, TierDoubt

DAY = timedelta(hours=24)
DAYS_MAX = 3_650  # a campaign that takes longer gets no end


@dataclass(frozen=True, slots=True)
class NumberLimits:
    """The limits of a number. `tier`: the messaging limit in the service's words; None if the service names
    none.

    `people_used`: how many people it wrote to in the last 24 hours, of those who count. `known_tier`: the
    last word for its messaging limit that Drumbeat understood.
    """

    phone_number_id: str
    limit_per_s: float
    tier: str | None
    people_used: int = 0
    known_tier: str | None = None

    @property
    def said(self) -> SaidTier:
        return SaidTier(self.tier, self.known_tier)


@dataclass(frozen=True, slots=True)
class NumberShare:
    """The share that one number sends. `people_per_day`: its messaging limit; None for no limit or an unknown
    one.

    `allowed`: the messaging limit allows its share within 24 hours; None if the limit is unknown. `days`: the
    least periods of 24 hours that the share takes. `tier_doubt`: the reason why `people_per_day` is not what
    the service says at present.
    """

    phone_number_id: str
    limit_per_s: float
    tier: str | None
    recipients: int
    people_per_day: int | None
    people_used: int
    allowed: bool | None
    days: int
    tier_doubt: TierDoubt | None = None


def quota_days(recipients: int, people_per_day: Sequence[int | None], scope: QuotaScope) -> int:
    """Return the least periods of 24 hours in which numbers with these limits write to so many people."""
    known = [people for people in people_per_day if people is not None]
    if len(known) < len(people_per_day) or not known:
        return 1
    per_day = known[0] if scope is QuotaScope.ACCOUNT else sum(known)
    return max(1, ceil(recipients / per_day))


def shares(
    recipients: int, numbers: Sequence[NumberLimits], scope: QuotaScope = QuotaScope.NUMBER
) -> list[NumberShare]:
    """Return the share of each number, in whole recipients that add up."""
    tiers = limits({number.phone_number_id: number.said for number in numbers}, scope)
    people = [tiers.get(number.phone_number_id) for number in numbers]
    days = quota_days(recipients, people, scope)
    allowed = [None if each is None or scope is QuotaScope.ACCOUNT else each * days for each in people]
    given = _divide(recipients, [number.limit_per_s for number in numbers], allowed)
    return [
        _share(number, share, per_day, days if scope is QuotaScope.ACCOUNT else None)
        for number, share, per_day in zip(numbers, given, people, strict=True)
    ]


def _divide(recipients: int, rates_per_s: Sequence[float], most: Sequence[int | None]) -> list[int]:
    """Return whole shares by the rates. What one number may not take goes to the others."""
    fixed: dict[int, int] = {}
    while True:
        rest, total_per_s = recipients - sum(fixed.values()), 0.0
        open_per_s = sum(rate_per_s for at, rate_per_s in enumerate(rates_per_s) if at not in fixed)
        given, found = 0, dict(fixed)
        for at, rate_per_s in enumerate(rates_per_s):
            if at not in fixed:
                total_per_s += rate_per_s
                found[at] = round(rest * total_per_s / open_per_s) - given
                given += found[at]
        above = {
            at: bound for at, share in found.items() if (bound := most[at]) is not None and share > bound
        }
        if not above:
            return [found[at] for at in range(len(rates_per_s))]
        fixed |= above


def _share(number: NumberLimits, recipients: int, people: int | None, days: int | None) -> NumberShare:
    """Return the share of a number. `days`: of all numbers together, if they share a messaging limit."""
    own_days = days or (1 if people is None else max(1, ceil(recipients / people)))
    known = people is not None or number.said.holds is not None
    return NumberShare(
        number.phone_number_id,
        number.limit_per_s,
        number.tier,
        recipients,
        people,
        number.people_used,
        own_days == 1 if known else None,
        own_days,
        number.said.doubt,
    )


def sending_s(recipients: int, numbers: Sequence[NumberLimits]) -> float:
    """Return the seconds of sending at the limits of all numbers together."""
    return recipients / sum(number.limit_per_s for number in numbers)


def first_send(start: datetime, hours: SendingHours, zones: Sequence[ZoneInfo]) -> datetime | None:
    """Return the first moment, not before `start`, that the hours allow; None: not within a month."""
    return hours.opens_at(start, zones)


def last_send(
    start: datetime, seconds: float, hours: SendingHours, zones: Sequence[ZoneInfo]
) -> datetime | None:
    """Return when so many seconds of sending are over, from `start` on; None: not in DAYS_MAX days."""
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
