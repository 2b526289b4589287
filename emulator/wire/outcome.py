"""The reply to one request, maybe still in the making."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from enum import Enum


class Ending(Enum):
    """What becomes of the connection after a reply: kept, closed, or reset."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"


class Outcome:
    """Filled by the service, emptied by the connection when it is this reply's turn.

    `last` tells whoever renders the reply that the connection closes after it. With a `pause_s` the loop, or
    that much time, passes between two chunks; without one they go out together.
    """

    __slots__ = ("_flush", "_resting", "chunks", "ending", "last", "pause_s", "ready_chunks")

    def __init__(self, flush: Callable[[], None], *, last: bool) -> None:
        self._flush = flush
        self._resting = False
        self.last = last
        self.ready_chunks = False
        self.chunks: Iterator[bytes] = iter(())
        self.pause_s: float | None = None
        self.ending = Ending.KEEP

    @property
    def ready(self) -> bool:
        """Whether there is something to do for this reply now."""
        return self.ready_chunks and not self._resting

    def finish(self, data: bytes, ending: Ending = Ending.KEEP) -> None:
        """The whole reply is `data`; no bytes and an ending are no reply."""
        self.finish_in_chunks([data] if data else [], None, ending)

    def finish_in_chunks(
        self, chunks: Iterable[bytes], pause_s: float | None, ending: Ending = Ending.KEEP
    ) -> None:
        """The reply is `chunks`, taken one by one as the peer reads."""
        self.chunks = iter(chunks)
        self.pause_s = pause_s
        self.ending = Ending.CLOSE if self.last and ending is Ending.KEEP else ending
        self.ready_chunks = True
        self._flush()

    def rest(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let time pass before the next chunk."""
        self._resting = True
        loop.call_later(self.pause_s or 0, self._wake)

    def _wake(self) -> None:
        self._resting = False
        self._flush()
