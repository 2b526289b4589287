"""The replies of one connection. Law: they leave in the order of the requests, as fast as the peer reads."""

import asyncio
import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum


class Ending(Enum):
    """The fate of the connection after a reply."""

    KEEP = "keep"
    CLOSE = "close"
    RESET = "reset"


_KEEP, _CLOSE = Ending.KEEP, Ending.CLOSE  # a global is read in a third of the time of an enum's member


class ReplySlot:
    """A place that holds the reply to one request until its turn. It is filled once, at once or much later.

    `last`: the connection closes after this reply. `is_ready`: something can be written now. `chunks` is None
    if `data` is the whole reply.
    """

    # On the class, because most replies change few of them.
    is_ready = False
    data = b""
    chunks: Iterator[bytes] | None = None
    ending = _KEEP
    _pause_s: float | None = None

    def __init__(self, writer: "ReplyWriter", last: bool) -> None:
        self._writer = writer
        self.last = last
        if last:
            self.ending = _CLOSE

    @property
    def is_wanted(self) -> bool:
        """Return False once the connection is gone."""
        return self._writer.transport is not None

    def finish(self, data: bytes, ending: Ending = Ending.KEEP) -> None:
        """Fill the slot with the whole reply. Without data the connection ends with no reply, as `ending`
        says.
        """
        self.data = data
        if ending is not _KEEP:
            self.ending = ending
        self.is_ready = True
        self._writer.flush()

    def finish_in_chunks(
        self, chunks: Iterable[bytes], pause_s: float | None, ending: Ending = Ending.KEEP
    ) -> None:
        """Fill the slot with a reply in chunks. None of them is empty. Each is taken when the peer has read
        enough of those before.

        `pause_s` is the time between two chunks; 0 lets the event loop run between them, None does not.
        """
        self.chunks = iter(chunks)
        self._pause_s = pause_s
        self.finish(b"", ending)

    def rest(self) -> None:
        """Pause between two chunks."""
        if self._pause_s is not None:
            self.is_ready = False
            asyncio.get_running_loop().call_later(self._pause_s, self._wake)

    def _wake(self) -> None:
        self.is_ready = True
        self._writer.flush()


class ReplyWriter:
    """A writer of the replies of one connection. It stops reading while too many replies are open or the peer
    reads none.

    `closing`: no further request is taken, and the connection ends after the replies in `slots`. `end` does
    that.
    """

    def __init__(self, pipelined_max: int, end: Callable[[Ending], None]) -> None:
        self.transport: asyncio.Transport | None = None
        self.closing = False
        self.is_writable = True
        self.slots: deque[ReplySlot] = deque()
        self._is_reading = True
        self._pipelined_max = pipelined_max
        self._end = end

    def open_slot(self, *, last: bool) -> ReplySlot:
        """Return the slot for the reply to the request that arrived last."""
        slot = ReplySlot(self, last)
        self.slots.append(slot)
        if last:
            self.closing = True
        elif len(self.slots) >= self._pipelined_max:
            self.steer_reading()
        return slot

    def flush(self) -> None:
        """Write the replies whose turn it is."""
        slots = self.slots
        while slots and slots[0].is_ready and self.is_writable and self.transport is not None:
            slot = slots[0]
            data = slot.data if slot.chunks is None else next(slot.chunks, b"")
            if data:
                self.transport.write(data)
                if slot.chunks is not None:
                    slot.rest()
                    continue
            slots.popleft()
            if slot.ending is not _KEEP:
                slots.clear()
                self.closing = True
                return self._end(slot.ending)
        if self.closing and not slots:
            return self._end(_CLOSE)
        return None if self._is_reading else self.steer_reading()

    def set_writable(self, is_writable: bool) -> None:
        """Note whether the transport takes more. If not, the peer has not read the bytes that wait in it."""
        self.is_writable = is_writable
        if is_writable:
            self.flush()
        self.steer_reading()

    def abandon(self) -> None:
        """Drop the replies, because the connection is gone."""
        self.transport = None
        self.slots.clear()

    def steer_reading(self) -> None:
        """Read from the peer only while its next reply may wait here too."""
        wanted = self.is_writable and len(self.slots) < self._pipelined_max
        transport = self.transport
        if transport is None or wanted == self._is_reading or transport.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()


def reset(transport: asyncio.Transport) -> None:
    """End a connection with RST, not FIN. The option belongs to the open file, so a duplicate can set it."""
    with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as twin:
        twin.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
