"""The counts of deliveries by half hour, also of messages whose statuses nobody has subscribed to."""

import asyncio
import heapq
from collections import Counter
from typing import Any

from drumbeat.emulator.clock import Clock
from drumbeat.emulator.ledger.ledger import Ledger
from drumbeat.emulator.schedule import StatusSchedule

HALF_HOUR_S = 1800
# Messages counted at once, about 5 ms.
CHUNK_MESSAGES = 2_000


class Deliveries:
    """The counter. A delivery with a status is counted when the status is due.

    Without a subscriber no status is planned, so that a send costs less. Such messages are counted when
    analytics ask for them, each once.
    """

    def __init__(self, clock: Clock, ledger: Ledger, schedule: StatusSchedule) -> None:
        self._clock = clock
        self._ledger = ledger
        self._schedule = schedule
        # (phone number id, half hour since 1970) -> delivered
        self._counts: Counter[tuple[str, int]] = Counter()
        # Indexes of the ledger, from and up to, of messages without statuses that are not counted yet.
        self._unseen: list[list[int]] = []
        self._unseen_from = 0
        # Those that are counted and arrive later: (time, phone number id), the earliest first.
        self._under_way: list[tuple[int, str]] = []

    def plan_statuses(self, *, wanted: bool) -> None:
        """Set whether statuses are planned for messages that are accepted from now on."""
        if wanted and not self._schedule.wanted:
            self._unseen = self._waiting()
        self._unseen_from = len(self._ledger)
        self._schedule.wanted = wanted

    def count(self, number_id: str, at_ns: int) -> None:
        """Count a delivery."""
        self._counts[number_id, self._clock.unix_s(at_ns) // HALF_HOUR_S] += 1

    async def catch_up(self) -> None:
        """Count what was delivered without a status. Other tasks run in between."""
        self._unseen, self._unseen_from = self._waiting(), len(self._ledger)
        while self._unseen:
            begin, end = self._unseen.pop(0)
            middle = min(begin + CHUNK_MESSAGES, end)
            if middle < end:
                self._unseen.insert(0, [middle, end])
            for index in range(begin, middle):
                self._foresee(index)
            await asyncio.sleep(0)
        now_ns = self._clock.now_ns()
        while self._under_way and self._under_way[0][0] <= now_ns:
            due_ns, number_id = heapq.heappop(self._under_way)
            self.count(number_id, due_ns)

    def between(self, number_id: str, begin_s: int, end_s: int) -> int:
        """Return the count of a number's deliveries in these half hours."""
        return sum(
            count
            for (number, half_hour), count in self._counts.items()
            if number == number_id and begin_s <= half_hour * HALF_HOUR_S < end_s
        )

    def dump(self) -> dict[str, Any]:
        """Return the state, for a snapshot."""
        return {
            "counts": [[*key, count] for key, count in self._counts.items()],
            "unseen": self._waiting(),
            "under_way": [list(each) for each in self._under_way],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Restore a dumped state, after the ledger."""
        self._counts = Counter({(number, half_hour): n for number, half_hour, n in state["counts"]})
        self._unseen = [[int(begin), int(end)] for begin, end in state["unseen"]]
        self._under_way = [(int(due_ns), str(number)) for due_ns, number in state["under_way"]]
        self._unseen_from = len(self._ledger)
        if any(not 0 <= begin <= end <= len(self._ledger) for begin, end in self._unseen):
            raise ValueError("deliveries are of messages that do not exist")

    def _waiting(self) -> list[list[int]]:
        if self._schedule.wanted or self._unseen_from >= len(self._ledger):
            return list(self._unseen)
        return [*self._unseen, [self._unseen_from, len(self._ledger)]]

    def _foresee(self, index: int) -> None:
        message = self._ledger.messages.row(index)
        due_ns = self._schedule.delivery_ns(index, message.recipient, message.received_ns)
        if due_ns is not None:
            heapq.heappush(self._under_way, (due_ns, self._ledger.kind(index).number_id))
