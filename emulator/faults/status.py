"""Faults of events: statuses that go missing, come twice, late, or in another order."""

import random
from dataclasses import dataclass
from typing import Protocol

from emulator.events.schedule import Status, StatusSchedule
from emulator.faults.exchange import Stage
from emulator.faults.options import Options, number_of

SECOND_NS = 1_000_000_000


class StatusEffect(Protocol):
    """What a fault does to one due status of a batch; `schedule` takes what is to happen later."""

    @property
    def stage(self) -> Stage:
        """Always EVENTS."""
        ...

    def bend(
        self, batch: list[Status], place: int, schedule: StatusSchedule, chance: random.Random, /
    ) -> list[Status]:
        """What is sent instead of the status at `place`."""
        ...


@dataclass(frozen=True, slots=True)
class Missing:
    """The status is never told."""

    stage: Stage = Stage.EVENTS

    def bend(
        self, _batch: list[Status], _place: int, _schedule: StatusSchedule, _chance: random.Random, /
    ) -> list[Status]:
        """Nothing."""
        return []


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The status is told twice."""

    stage: Stage = Stage.EVENTS

    def bend(
        self, batch: list[Status], place: int, _schedule: StatusSchedule, _chance: random.Random, /
    ) -> list[Status]:
        """The status, and again."""
        return [batch[place], batch[place]]


@dataclass(frozen=True, slots=True)
class Late:
    """The status is told after a delay."""

    delay_s: float
    stage: Stage = Stage.EVENTS

    def bend(
        self, batch: list[Status], place: int, schedule: StatusSchedule, _chance: random.Random, /
    ) -> list[Status]:
        """Nothing now."""
        late = batch[place]._replace(due_ns=batch[place].due_ns + round(self.delay_s * SECOND_NS), bent=True)
        schedule.add(late)
        return []


@dataclass(frozen=True, slots=True)
class Reordered:
    """The status changes places with another of its batch."""

    stage: Stage = Stage.EVENTS

    def bend(
        self, batch: list[Status], place: int, _schedule: StatusSchedule, chance: random.Random, /
    ) -> list[Status]:
        """The other one here, this one there, as far as that is still to come."""
        other = chance.randrange(place, len(batch))
        batch[place], batch[other] = batch[other], batch[place]
        return [batch[place]]


def late(options: Options) -> Late:
    """`delay_s` (5)."""
    return Late(number_of(options, "delay_s", 5, 0, 31 * 86_400))
