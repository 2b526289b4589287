"""Faults of events: statuses that go missing, come twice, late, or in another order."""

import random
from collections.abc import Callable
from typing import TypeAlias

from emulator.clock import SECOND_NS
from emulator.events.schedule import Status, StatusSchedule
from emulator.faults.options import Options, number_of

# What is sent instead of the status at a place of the batch that is due, by a chance that is the fault's own.
# The schedule takes what is to happen later.
Bend: TypeAlias = Callable[[list[Status], int, StatusSchedule, random.Random], list[Status]]


def missing(
    _batch: list[Status], _place: int, _schedule: StatusSchedule, _chance: random.Random
) -> list[Status]:
    """The status is never told."""
    return []


def duplicate(
    batch: list[Status], place: int, _schedule: StatusSchedule, _chance: random.Random
) -> list[Status]:
    """The status is told twice."""
    return [batch[place], batch[place]]


def reordered(
    batch: list[Status], place: int, _schedule: StatusSchedule, chance: random.Random
) -> list[Status]:
    """The status changes places with another of its batch, as far as that is still to come."""
    other = chance.randrange(place, len(batch))
    batch[place], batch[other] = batch[other], batch[place]
    return [batch[place]]


def late(options: Options) -> Bend:
    """The status is told after `delay_s` (5)."""
    delay_ns = round(number_of(options, "delay_s", 5, 0, 31 * 86_400) * SECOND_NS)

    def bend(
        batch: list[Status], place: int, schedule: StatusSchedule, _chance: random.Random
    ) -> list[Status]:
        schedule.add(batch[place]._replace(due_ns=batch[place].due_ns + delay_ns, bent=True))
        return []

    return bend
