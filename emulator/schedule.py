"""The times at which the statuses of an accepted message happen."""

import heapq
import math
from collections.abc import Iterator
from enum import IntFlag
from itertools import chain
from typing import NamedTuple

from drumbeat.emulator.chance import normal
from drumbeat.emulator.clock import SECOND_NS
from drumbeat.emulator.people import People

SENT, DELIVERED, READ, FAILED = 0, 1, 2, 3
STATUS_WORDS = ("sent", "delivered", "read", "failed")

# Median seconds after acceptance (sent), after sent (delivered, failed), after delivered (read); lognormal.
_MEDIANS_S = (0.4, 1.2, 6.0, 1.2)
_SIGMA = 0.6
_SPREADS = tuple(math.exp(_SIGMA * normal(step)) for step in range(1024))
# A slot is about 8 ms. Statuses are looked for every 20 ms, so a slot makes none visibly late.
SLOT_BITS = 23
# Statuses that wait for their time. At the limit the emulator adds no more and counts what it dropped.
SCHEDULE_LIMIT = 6_000_000


class Marks(IntFlag):
    """The marks of a status by faults. DELAYED: no further fault applies. The others: how its event is
    written.
    """

    DELAYED = 1
    PLUS = 2
    USER_ID = 4
    UNBILLED = 8
    ELSEWHERE = 16


class Status(NamedTuple):
    """A status; `message` is an index of the ledger. `error_code` is 0 unless it failed.

    `marks`: see `Marks`.
    """

    due_ns: int
    message: int
    status: int
    error_code: int = 0
    marks: int = 0


class StatusSchedule:
    """The statuses by due time. `delay` scales the medians; 0 makes everything due at once.

    `wanted`: somebody subscribed to statuses, so accepted messages are to be planned. Statuses wait in slots
    of time, and a slot is sorted when it is over. One heap of 70,000, as at 10,000 messages a second, would
    make a message cost twice as much.
    """

    def __init__(self, people: People, delay: float) -> None:
        self.wanted = False
        self._people = people
        self._delay_ns = [median_s * delay * SECOND_NS for median_s in _MEDIANS_S]
        # due_ns >> SLOT_BITS -> statuses, and a heap of these numbers
        self._slots: dict[int, list[Status]] = {}
        self._order: list[int] = []
        # The rest of a slot whose time is over, the earliest last.
        self._ready: list[Status] = []
        self._waiting = 0
        self.dropped = 0
        # Messages without statuses that a fault fails: indexes of the ledger.
        self.failing: set[int] = set()

    def __len__(self) -> int:
        return self._waiting

    def plan(self, index: int, recipient: int, accepted_ns: int, fails_with: int | None = None) -> None:
        """Schedule every status that a message to `recipient` will have. `fails_with`: the code with which a
        fault fails the message.
        """
        if self._waiting >= SCHEDULE_LIMIT:
            self.dropped += 1
            return
        people = self._people
        bits = people.bits(recipient)
        delay_ns = self._delay_ns
        due_ns = accepted_ns + int(delay_ns[SENT] * _SPREADS[bits & 1023])
        self._add(due_ns, index, SENT, 0)
        failure = fails_with or people.failure(recipient)
        if failure is not None:
            self._add(due_ns + int(delay_ns[FAILED] * _SPREADS[bits >> 10 & 1023]), index, FAILED, failure)
            return
        due_ns += int(delay_ns[DELIVERED] * _SPREADS[bits >> 10 & 1023])
        self._add(due_ns, index, DELIVERED, 0)
        if people.reads(recipient):
            self._add(due_ns + int(delay_ns[READ] * _SPREADS[bits >> 20 & 1023]), index, READ, 0)

    def delivery_ns(self, index: int, recipient: int, accepted_ns: int) -> int | None:
        """Return when a message without statuses is delivered, or None if it fails."""
        if index in self.failing or self._people.failure(recipient) is not None:
            return None
        bits = self._people.bits(recipient)
        sent_ns = accepted_ns + int(self._delay_ns[SENT] * _SPREADS[bits & 1023])
        return sent_ns + int(self._delay_ns[DELIVERED] * _SPREADS[bits >> 10 & 1023])

    def add(self, status: Status) -> None:
        """Schedule one status."""
        self._waiting += 1
        self._slot(status.due_ns >> SLOT_BITS).append(status)

    def _add(self, due_ns: int, index: int, status: int, error_code: int) -> None:
        # Not Status(...): every message has three, and this saves a call.
        status_due = tuple.__new__(Status, (due_ns, index, status, error_code, 0))
        self._waiting += 1
        slot = self._slots.get(due_ns >> SLOT_BITS)
        if slot is None:
            slot = self._slot(due_ns >> SLOT_BITS)
        slot.append(status_due)

    def _slot(self, number: int) -> list[Status]:
        slot = self._slots.get(number)
        if slot is None:
            slot = self._slots[number] = []
            heapq.heappush(self._order, number)
        return slot

    def due(self, now_ns: int, limit: int) -> Iterator[Status]:
        """Take up to `limit` statuses whose time has come, earliest first, at most a slot late."""
        while limit:
            if not self._ready and not self._open_slot(now_ns >> SLOT_BITS):
                return
            limit -= 1
            self._waiting -= 1
            yield self._ready.pop()

    def _open_slot(self, present_slot: int) -> bool:
        """Make the earliest slot ready if its time is over."""
        if not self._order or self._order[0] >= present_slot:
            return False
        self._ready = self._slots.pop(heapq.heappop(self._order))
        self._ready.sort(reverse=True)
        return True

    def _everything(self) -> Iterator[Status]:
        return chain(self._ready, *self._slots.values())

    def dump(self) -> list[list[int]]:
        """Return the waiting statuses, for a snapshot."""
        return [list(status) for status in self._everything()]

    def load(self, state: list[list[int]]) -> None:
        """Restore dumped statuses."""
        for each in state:
            status = Status(each[0], each[1], each[2], each[3], int(each[4]))
            if not 0 <= status.status < len(STATUS_WORDS) or status.message < 0:
                raise ValueError("a waiting status is not one of the service")
            self.add(status)

    def last_message(self) -> int:
        """Return the last message in the ledger that a status waits for, or -1 without any."""
        return max((status.message for status in self._everything()), default=-1)
