"""A TCP proxy before the database that delays, stalls, resets and cuts connections, or lets them die unnoticed."""

import asyncio
import ctypes
import socket
import struct
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from pathlib import Path

CHUNK_BYTES = 65_536
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER of zero seconds: closing sends RST
_SO_ATTACH_FILTER = 26  # Linux
_DROP = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # BPF: take no byte of any packet


class Proxy:
    """`delay_s`: of every chunk. `cut_after`: bytes after which a new connection breaks, None for never.

    `answers_lost`: answers of the database are dropped, statements arrive. `half_open`: the clients' ports
    of connections whose bytes vanish in both directions, and which nobody closes but the client.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._open: dict[asyncio.StreamWriter, int] = {}  # the client's port
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.delay_s = 0.0
        self.cut_after: int | None = None
        self.answers_lost = False
        self.half_open: set[int] = set()
        self.port = 0

    def stall(self) -> None:
        """Pass nothing on, in either direction, and keep all connections open."""
        self._flowing.clear()

    def flow(self) -> None:
        """End all faults."""
        self.delay_s, self.cut_after, self.answers_lost = 0.0, None, False
        self._flowing.set()

    def reset(self, ports: Collection[int] | None = None) -> None:
        """End these connections, or every one, by RST."""
        for writer, port in list(self._open.items()):
            if ports is None or port in ports:
                _abort(writer)

    def vanish(self, ports: Collection[int] | None = None) -> None:
        """From now on these connections, or all, lead nowhere, like behind a router that lost its table."""
        known = set(self._open.values())
        self.half_open |= known if ports is None else known.intersection(ports)

    def darken(self) -> None:
        """Like `vanish`, and the kernel acknowledges nothing any more, as if the network to the server were cut."""
        self.vanish()
        for writer in self._open:
            sock = writer.get_extra_info("socket")
            if sock.family != socket.AF_UNIX:
                program = struct.pack("HL", 1, ctypes.addressof(_DROP))
                sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pump both directions until either ends."""
        try:
            there, back = await asyncio.open_unix_connection(self._target)
        except OSError:
            _abort(writer)
            return
        port = writer.get_extra_info("peername")[1]
        self._open |= {writer: port, back: port}
        budget = [self.cut_after if self.cut_after is not None else 1 << 62]
        try:
            await asyncio.wait(
                [asyncio.create_task(self._pump(reader, back, budget, port)),
                 asyncio.create_task(self._pump(there, writer, budget, port))],
                return_when=asyncio.FIRST_COMPLETED,
            )  # fmt: skip
        finally:
            self.half_open.discard(port)
            for end in (writer, back):
                del self._open[end]
                _abort(end)

    async def _pump(
        self,
        source: asyncio.StreamReader,
        results_writer: asyncio.StreamWriter,
        budget: list[int],
        port: int,
    ) -> None:
        answers = results_writer.get_extra_info("socket").family != socket.AF_UNIX
        with suppress(OSError, asyncio.IncompleteReadError):
            while chunk := await source.read(CHUNK_BYTES):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._flowing.wait()
                if (self.answers_lost and answers) or port in self.half_open:
                    continue
                results_writer.write(chunk[: max(0, budget[0])])
                budget[0] -= len(chunk)
                if budget[0] < 0:
                    return
                await results_writer.drain()


def _abort(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    with suppress(OSError):
        if sock is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    writer.transport.abort()


@asynccontextmanager
async def proxied(target: Path) -> AsyncIterator[Proxy]:
    """A proxy on a free port of the loopback before a Unix socket."""
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.half_open.clear()
        proxy.flow()
        proxy.reset()
