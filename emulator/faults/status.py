"""The faults of events: a status is lost, sent twice, late, or in another order."""

import random
from collections.abc import Callable
from typing import TypeAlias

from drumbeat.emulator.clock import SECOND_NS
from drumbeat.emulator.faults.options import Options, number_of
from drumbeat.emulator.schedule import Marks, Status, StatusSchedule

# Returns the statuses to send instead of the one at an index of the due batch. The random stream is the
# fault's own. The schedule takes statuses that are sent later.
StatusEffect: TypeAlias = Callable[[list[Status], int, StatusSchedule, random.Random], list[Status]]


def missing(
    _batch: list[Status], _index: int, _schedule: StatusSchedule, _chance: random.Random
) -> list[Status]:
    """Return no status: it is not sent."""
    return []


def duplicate(
    batch: list[Status], index: int, _schedule: StatusSchedule, _chance: random.Random
) -> list[Status]:
    """Return the status twice."""
    return [batch[index], batch[index]]


def reordered(
    batch: list[Status], index: int, _schedule: StatusSchedule, chance: random.Random
) -> list[Status]:
    """Swap the status with a later one of its batch."""
    other = chance.randrange(index, len(batch))
    batch[index], batch[other] = batch[other], batch[index]
    return [batch[index]]


def marked(mark: Marks) -> StatusEffect:
    """Return the fault that sends a status in another form."""

    def effect(
        batch: list[Status], index: int, _schedule: StatusSchedule, _chance: random.Random
    ) -> list[Status]:
        return [batch[index]._replace(marks=int(batch[index].marks | mark))]

    return effect


def late(options: Options) -> StatusEffect:
    """Return the fault that sends a status after `delay_s` (5)."""
    delay_ns = round(number_of(options, "delay_s", 5, 0, 31 * 86_400) * SECOND_NS)

    def effect(
        batch: list[Status], index: int, schedule: StatusSchedule, _chance: random.Random
    ) -> list[Status]:
        schedule.add(batch[index]._replace(due_ns=batch[index].due_ns + delay_ns, marks=int(Marks.DELAYED)))
        return []

    return effect
