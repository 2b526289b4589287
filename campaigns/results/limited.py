"""The limit of a campaign's sending: its numbers, throttles, the machine, or none; and its idle time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

STEADY_S = 5.0  # a shorter run is mostly its first and last second
AT_LIMIT_SHARE = 0.97  # the pace stays 0.5 % below the limit, and the first second is slower
THROTTLED_SHARE = 0.002  # ten times what a service at its limit throttles by chance
FULL_CORE_SHARE = 0.85  # above it, replies wait for the process


class LimitedBy(StrEnum):
    """The limit of a sending. Written in JSON: never renamed."""

    PACE = "pace"
    THROTTLES = "throttles"
    MACHINE = "machine"
    OTHER = "other"


class Sent(Protocol):
    """The work of one number for the campaign. `active_s` is the time spent sending, without pauses."""

    @property
    def limit_per_s(self) -> float: ...
    @property
    def attempts(self) -> int: ...
    @property
    def throttled(self) -> int: ...
    @property
    def active_s(self) -> float: ...
    @property
    def cpu_s(self) -> float: ...
    @property
    def first_attempt_at(self) -> datetime | None: ...
    @property
    def last_attempt_at(self) -> datetime | None: ...


@dataclass(frozen=True, slots=True)
class Limited:
    """The limit of a campaign's sending. `slowed_s` is how much longer its slowest number took than at its
    limit.
    `idle_s` is how long nothing was sent between the first and the last request: paused, outside its hours,
    at a messaging limit, or behind other campaigns.
    """

    by: LimitedBy
    slowed_s: float
    idle_s: float

    @property
    def words(self) -> str:
        return _WORDS[self.by]


_WORDS = {
    LimitedBy.PACE: "the pace that its numbers are allowed",
    LimitedBy.THROTTLES: "throttles of the service, below the limits of its numbers",
    LimitedBy.MACHINE: "the processor of the machine that sent it",
    LimitedBy.OTHER: "neither numbers, throttles nor processor: see how long replies and commits take",
}


def what_limited(numbers: Sequence[Sent]) -> Limited | None:
    """Return what limited the sending; None if too little was sent to tell."""
    sent = [number for number in numbers if number.attempts and number.active_s >= STEADY_S]
    if not sent:
        return None
    attempts = sum(number.attempts for number in sent)
    reached = attempts / sum(number.limit_per_s * number.active_s for number in sent)
    throttled = sum(number.throttled for number in sent) / attempts
    cores = sum(number.cpu_s for number in sent) / max(number.active_s for number in sent)
    if reached >= AT_LIMIT_SHARE:
        by = LimitedBy.PACE
    elif throttled >= THROTTLED_SHARE:
        by = LimitedBy.THROTTLES
    elif cores >= FULL_CORE_SHARE:
        by = LimitedBy.MACHINE
    else:
        by = LimitedBy.OTHER
    return Limited(
        by,
        slowed_s=_rounded(max(number.active_s - number.attempts / number.limit_per_s for number in sent)),
        idle_s=_rounded(min(_span_s(number) - number.active_s for number in sent)),
    )


def _rounded(seconds: float) -> float:
    return round(max(0.0, seconds), 1)


def _span_s(number: Sent) -> float:
    if number.first_attempt_at is None or number.last_attempt_at is None:
        return 0.0
    return (number.last_attempt_at - number.first_attempt_at).total_seconds()
