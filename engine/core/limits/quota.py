"""The messaging limit: how many more people may be written to now, and when there will be more.

Law: within any 24 hours, no more different people are written to than the limit allows, outside open
conversations. A person counts from the claim of the latest message to them, so the count never runs behind
the service's. A message to a person who is counted already takes nothing of the limit, and starts their 24
hours anew.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum, StrEnum

from drumbeat.engine.core.limits.tier import SaidTier, Tier
from drumbeat.engine.core.outcome import Scope, Throttled

WINDOW_S = 24 * 3600.0
# The service counts from the arrival, Drumbeat from the claim. The margin covers 2 s of a claim, 30 s of a
# request, and what two clocks drift apart in a day.
MARGIN_S = 60.0
COUNTED_S = WINDOW_S + MARGIN_S  # after a claim
# A number that waits continues when the first person has been free for so long. People leave the count one by
# one, as they entered it; without this wait the number would take and release a range for each of them.
GATHER_S = 60.0
# The longest rest of a number that the service refused for quota. Other programs may have used a part of the
# limit, and then it is free again sooner than we know. A probe an hour is cheap.
PROBE_S = 3600.0


class QuotaScope(StrEnum):
    """The scope of a messaging limit: each number by itself, or all numbers of the account together."""

    NUMBER = "number"
    ACCOUNT = "account"


class Person(IntEnum):
    """The effect of a message to a person on the count. The numbers are those of `look` in `quota.sql`."""

    IN_CONVERSATION = 0  # the person wrote to the number within 24 hours: not counted
    COUNTED = 1
    NEW = 2


@dataclass(frozen=True, slots=True)
class QuotaStanding:
    """The standing of a messaging limit. After a change to a smaller limit, `used` may exceed it.

    `more_at` is when one more person may be written to, if the limit is used up.
    """

    limit: int
    used: int
    more_at: datetime | None = None

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)


def limits(tiers: Mapping[str, SaidTier], scope: QuotaScope) -> dict[str, int]:
    """Return the limit of each number that has one, by what the service says of all numbers.

    Numbers that share a limit have the lowest of theirs: the service announces a change number by number. A
    number whose word was never understood has the limit of the others.
    """
    if scope is QuotaScope.ACCOUNT:
        understood = [tier for each in tiers.values() if (tier := each.understood) is not None]
        shared = _people(understood or [tier for each in tiers.values() if (tier := each.holds) is not None])
        return dict.fromkeys(tiers, min(shared)) if shared else {}
    held = {number: tier for number, said in tiers.items() if (tier := said.holds) is not None}
    return {number: tier.people for number, tier in held.items() if tier.people is not None}


def _people(tiers: Iterable[Tier]) -> list[int]:
    return [tier.people for tier in tiers if tier.people is not None]


def admitted(left: int, people: Sequence[Person]) -> list[bool]:
    """Say of each person if they may be written to while `left` new ones may, the first ones first."""
    may: list[bool] = []
    for person in people:
        left -= person is Person.NEW
        may.append(person is not Person.NEW or left >= 0)
    return may


def admitted_in_order(left: int, people: Sequence[Person]) -> list[bool]:
    """Say the same as `admitted`, but no to each person after the first who must wait.

    A watermark skips nobody.
    """
    may = admitted(left, people)
    first = may.index(False) if False in may else len(may)
    return [position < first for position in range(len(may))]


def is_quota(refusal: Throttled, standing: QuotaStanding | None) -> bool:
    """Return whether a refusal of the number is for its messaging limit: by our own count it is used up.

    Any other refusal is for the pace. If the lowest rate does not end it, `RateGovernor` takes it for a
    quota.
    """
    return (
        refusal.scope is Scope.NUMBER
        and refusal.code is not None
        and standing is not None
        and not standing.left
    )


def rest_s(standing: QuotaStanding, now: datetime) -> float:
    """Return how long a number rests after the service refused it for quota, in seconds."""
    if standing.more_at is None:
        return PROBE_S
    return min(PROBE_S, max(GATHER_S, (standing.more_at - now).total_seconds()))


def in_words(standings: Sequence[QuotaStanding]) -> str:
    """Say that these messaging limits are used up, and until when.

    Numbers that share a limit have one standing.
    """
    used, limit = sum(each.used for each in standings), sum(each.limit for each in standings)
    moments = [standing.more_at for standing in standings if standing.more_at is not None]
    goes_on = f"; goes on at {min(moments):%Y-%m-%d %H:%M:%SZ}" if moments else ""
    return f"messaging limit: {used:,} of {limit:,} people in 24 hours{goes_on}"
