"""What bodies under way may take of the memory, all connections together: nobody has signed for them yet."""

from typing import Protocol


class Waiter(Protocol):
    """A connection with a body under way."""

    def give_way(self) -> None: ...


class Places:
    """One for all connections: the large bodies that may still be begun, and what waits for the rest of its
    body. Where that is too much, the one that began first gives way: the service sends without a pause, and
    to overtake it all others would have to send `waiting_bytes` meanwhile.
    """

    def __init__(self, free: int, waiting_bytes: int) -> None:
        self.free = free
        self.waiting_bytes = 0
        self._waiting_bytes_max = waiting_bytes
        self._waiting: dict[Waiter, int] = {}

    def hold(self, connection: Waiter, size: int) -> None:
        """`size`: of its body so far. This connection or another may be refused."""
        self.waiting_bytes += size - self._waiting.get(connection, 0)
        self._waiting[connection] = size
        while self.waiting_bytes > self._waiting_bytes_max:
            first = next(iter(self._waiting))
            self.let_go(first)
            first.give_way()

    def let_go(self, connection: Waiter) -> None:
        self.waiting_bytes -= self._waiting.pop(connection, 0)
