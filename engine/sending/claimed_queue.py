"""The claimed messages of one number that have no outcome yet."""

import asyncio
from collections import deque
from collections.abc import Iterable

from drumbeat.engine.sending.messages import ClaimedMessage


class ClaimedQueue:
    """A queue. `messages` wait in order. `taken` counts messages that left the queue and have no outcome.

    `connecting` counts those of them that still wait for a connection and a permit. `low` is set when fewer
    than `low_below` messages are unwritten: more may be claimed. `idle` is set while every message has its
    outcome.
    """

    __slots__ = ("connecting", "idle", "low", "low_below", "messages", "taken")

    def __init__(self) -> None:
        self.messages: deque[ClaimedMessage] = deque()
        self.taken = self.connecting = 0
        self.low = asyncio.Event()
        self.low_below = 1
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def unwritten(self) -> int:
        """Return how many messages are certainly not written."""
        return len(self.messages) + self.connecting

    @property
    def unfinished(self) -> int:
        """Return how many messages have no outcome."""
        return len(self.messages) + self.taken

    def add(self, messages: Iterable[ClaimedMessage]) -> None:
        self.messages.extend(messages)
        if self.messages:
            self.idle.clear()

    def take(self) -> ClaimedMessage:
        self.taken += 1
        return self.messages.popleft()

    def finish(self) -> bool:
        """Note that a taken message has its outcome. True if it was the last one."""
        self.taken -= 1
        if self.taken or self.messages:
            return False
        self.idle.set()
        return True

    def signal_if_low(self) -> None:
        if self.unwritten < self.low_below:
            self.low.set()
