"""When the statuses of an accepted message happen."""

import heapq
import math
from collections.abc import Iterator
from typing import NamedTuple

from emulator.chance import normal
from emulator.people import People

SENT, DELIVERED, READ, FAILED = 0, 1, 2, 3
STATUS_WORDS = ("sent", "delivered", "read", "failed")

SECOND_NS = 1_000_000_000
# Median seconds after acceptance (sent), after sent (delivered, failed), after delivered (read); lognormal.
_MEDIANS_S = (0.4, 1.2, 6.0, 1.2)
_SIGMA = 0.6
# Statuses waiting for their time; past it the emulator stops adding and counts what it dropped.
SCHEDULE_LIMIT = 6_000_000


class Status(NamedTuple):
    """A status of the message at `place` in the ledger; `error_code` 0 unless failed, `bent` if delayed."""

    due_ns: int
    place: int
    status: int
    error_code: int = 0
    bent: bool = False


class StatusSchedule:
    """A heap of statuses by due time. `delay` scales the medians; 0 makes everything due at once."""

    def __init__(self, people: People, delay: float) -> None:
        self._people = people
        self._delay_ns = [median_s * delay * SECOND_NS for median_s in _MEDIANS_S]
        self._waiting: list[Status] = []
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def plan(self, index: int, recipient: int, accepted_ns: int) -> None:
        """Schedule every status that a message to `recipient` will have."""
        if len(self._waiting) >= SCHEDULE_LIMIT:
            self.dropped += 1
            return
        bits = self._people.bits(recipient)
        sent_ns = self._after(accepted_ns, SENT, bits)
        heapq.heappush(self._waiting, Status(sent_ns, index, SENT))
        failure = self._people.failure(recipient)
        if failure is not None:
            self.add(Status(self._after(sent_ns, FAILED, bits >> 10), index, FAILED, failure))
            return
        delivered_ns = self._after(sent_ns, DELIVERED, bits >> 10)
        self.add(Status(delivered_ns, index, DELIVERED))
        if self._people.reads(recipient):
            self.add(Status(self._after(delivered_ns, READ, bits >> 20), index, READ))

    def add(self, status: Status) -> None:
        """Schedule one status."""
        heapq.heappush(self._waiting, status)

    def due(self, now_ns: int, limit: int) -> Iterator[Status]:
        """Take up to `limit` statuses whose time has come, earliest first."""
        waiting = self._waiting
        while limit and waiting and waiting[0].due_ns <= now_ns:
            limit -= 1
            yield heapq.heappop(waiting)

    def dump(self) -> list[list[int]]:
        """Everything that waits, for a snapshot."""
        return [list(status) for status in self._waiting]

    def load(self, state: list[list[int]]) -> None:
        """The reverse of `dump`."""
        self._waiting = [Status(each[0], each[1], each[2], each[3], bool(each[4])) for each in state]
        if any(not 0 <= status.status < len(STATUS_WORDS) or status.place < 0 for status in self._waiting):
            raise ValueError("a status that waits is none of the service's")
        heapq.heapify(self._waiting)

    def last_place(self) -> int:
        """The last message in the ledger that a status waits for; -1 without any."""
        return max((status.place for status in self._waiting), default=-1)

    def _after(self, base_ns: int, status: int, bits: int) -> int:
        return base_ns + int(self._delay_ns[status] * math.exp(_SIGMA * normal(bits)))
