"""The memory that request bodies may take before they are complete, over all connections."""

from typing import Protocol

from drumbeat.http_server.limits import Limits


class BodyReader(Protocol):
    """A connection that is reading a body."""

    def refuse(self, status: int, /) -> None:
        """Answer with this status and read nothing more."""
        ...


class BodyQuota:
    """The quota of a server, shared by all of its connections.

    It limits how many large bodies are read at the same time, and the bytes of all bodies that are not
    complete. Above that size it refuses the body that began first. A peer that sends without a pause is safe:
    to overtake it, all others would have to send `waiting_bytes` in the meantime.
    """

    def __init__(self, limits: Limits) -> None:
        self.waiting_bytes = 0
        self._waiting_bytes_max = limits.waiting_bytes
        self._large_max = limits.large_bodies
        self._large: set[BodyReader] = set()
        self._held_bytes: dict[BodyReader, int] = {}  # in the order in which the bodies began

    @property
    def large_bodies_free(self) -> int:
        """Return how many further large bodies may begin."""
        return self._large_max - len(self._large)

    def admit_large(self, reader: BodyReader) -> bool:
        """Return whether the body of this connection may exceed the usual size. `release` ends that."""
        if reader not in self._large:
            if len(self._large) >= self._large_max:
                return False
            self._large.add(reader)
        return True

    def hold(self, reader: BodyReader, size: int) -> None:
        """Record the size of an incomplete body so far. May refuse this connection or another."""
        self.waiting_bytes += size - self._held_bytes.get(reader, 0)
        self._held_bytes[reader] = size
        while self.waiting_bytes > self._waiting_bytes_max:
            first = next(iter(self._held_bytes))
            self.release(first)
            first.refuse(503)

    def release(self, reader: BodyReader) -> None:
        """Forget a body that is complete or no longer wanted."""
        self.waiting_bytes -= self._held_bytes.pop(reader, 0)
        self._large.discard(reader)
