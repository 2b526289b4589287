"""Judges the pace of numbers by one clock: the service's. Pure: messages and stamps in, crowded seconds out.

A sender's stamps tell exactly how far apart its own messages are. Stamps of two senders do not: each has a clock of
its own, and the correction of a wrong clock is off by a constant, up to 20 ms (`engine/core/clock_skew.py` says why).
Times of receipt are of one clock, but bunch where the service is interrupted. So all stamps of a clock are moved by
the same time, until its quickest message is received when it is written. Two clocks then differ by the difference
of their quickest ways, which is below 1 ms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.message import Message, Owner

# The quickest ways of two clocks differ, and a permit is taken a moment before the write that is judged.
PACE_SLACK_S = 0.005
WAY_S_MAX = (
    0.25  # from a write to its receipt; a longer time means that the process stalled between clock and write
)
ONE_CLOCK = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A message, and when it was written by the service's clock: at the earliest, and at the latest."""

    message: Message
    earliest_s: float
    latest_s: float


@dataclass(frozen=True, slots=True)
class Stamps:
    """The senders' stamps by wamid, and the clock of each owner; an owner without one has the clock of all such."""

    written_s: Mapping[str, float]
    clocks: Mapping[Owner, str]

    def by_service_clock(self, ledger: Sequence[Message]) -> dict[str, float]:
        """Return the stamps by the service's clock, by wamid."""
        stamped = [
            (each, self.written_s[each.wamid], self.clocks.get(each.owner, ONE_CLOCK))
            for each in ledger
            if each.wamid in self.written_s
        ]
        quickest_s: dict[str, float] = {}
        for each, written_s, clock in stamped:
            way_s = each.received_s - written_s
            quickest_s[clock] = min(way_s, quickest_s.get(clock, way_s))
        return {each.wamid: written_s + quickest_s[clock] for each, written_s, clock in stamped}


def crowded_seconds(
    ledger: Sequence[Message], stamps: Stamps, limits_per_s: Mapping[str, float]
) -> dict[str, list[tuple[Written, Written]]]:
    """Return, by number, the first and the last of each limit + 1 messages that certainly lie within a second."""
    written_s = stamps.by_service_clock(ledger)
    found = {}
    for number, limit_per_s in limits_per_s.items():
        placed = _placed([each for each in ledger if each.phone_number_id == number], written_s)
        firsts = sorted(placed, key=lambda each: each.earliest_s)
        lasts = sorted(placed, key=lambda each: each.latest_s)[int(limit_per_s) :]
        found[number] = [
            (first, last)
            for first, last in zip(firsts, lasts, strict=False)
            if last.latest_s < first.earliest_s + 1.0 - PACE_SLACK_S
        ]
    return {number: crowded for number, crowded in found.items() if crowded}


def _placed(messages: Sequence[Message], written_s: Mapping[str, float]) -> list[Written]:
    """Place each message on the service's clock.

    The stamp is missing if an event came before the outcome, or if the sender died. Such a message was written before
    it was received, earlier by at most the longest way of the others.
    """
    ways_s = (each.received_s - written_s[each.wamid] for each in messages if each.wamid in written_s)
    way_s = min(WAY_S_MAX, max(ways_s, default=0.0))
    return [
        Written(
            each,
            written_s.get(each.wamid, each.received_s - way_s),
            written_s.get(each.wamid, each.received_s),
        )
        for each in messages
    ]
