"""A real server on loopback. A script of the test decides how it answers."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

BODY_MARK = b"\r\n\r\n"


class Conversation:
    """The server's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def request(self) -> bytes:
        """The next complete request, head and body; b"" when the client has closed."""
        try:
            head = await self._reader.readuntil(BODY_MARK)
        except asyncio.IncompleteReadError as end:
            return end.partial
        lengths = [
            line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
        ]
        return head + await self._reader.readexactly(int(lengths[0]) if lengths else 0)

    async def write(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()

    async def answer(self, status: int, body: bytes, *headers: str) -> None:
        lines = [f"HTTP/1.1 {status} Word", f"Content-Length: {len(body)}", *headers]
        await self.write("\r\n".join(lines).encode() + BODY_MARK + body)

    def close(self) -> None:
        self._writer.close()

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    def hold(self) -> None:
        """Leave what arrives in the kernel's buffer until `resume`."""
        self._writer.transport.pause_reading()  # type: ignore[attr-defined]

    def resume(self) -> None:
        self._writer.transport.resume_reading()  # type: ignore[attr-defined]

    def arrived(self) -> bytes:
        """The bytes in the kernel's buffer that the loop has not read yet."""
        with socket.socket(fileno=os.dup(self._writer.get_extra_info("socket").fileno())) as peer:
            try:
                return peer.recv(65536, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            except BlockingIOError:
                return b""

    async def join(self, host: str, port: int) -> None:
        """Become a tunnel to another server until either side closes."""
        reader, writer = await asyncio.open_connection(host, port)
        copies = [
            asyncio.create_task(_copy(self._reader, writer)),
            asyncio.create_task(_copy(reader, self._writer)),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for copy in copies:
                copy.cancel()
            writer.close()

    async def closed_by_client(self) -> None:
        while await self._reader.read(65536):
            pass


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)


Script = Callable[["Server", Conversation], Awaitable[None]]


class Server:
    """Counts connections and keeps every request read."""

    def __init__(self, script: Script) -> None:
        self.requests: list[bytes] = []
        self.received = asyncio.Event()
        self.connections = 0
        self.base_url = ""
        self._script = script
        self._talks: set[asyncio.Task[None]] = set()

    async def read(self, conversation: Conversation) -> bytes:
        """Read one request and keep it."""
        request = await conversation.request()
        if request:
            self.requests.append(request)
            self.received.set()
        return request

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            await self._script(self, Conversation(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._talks.discard(task)
            writer.close()

    async def stop(self) -> None:
        for talk in list(self._talks):
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)


@asynccontextmanager
async def serving(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server on its own port, which runs the script for each connection."""
    server = Server(script)
    listener = await asyncio.start_server(server._accept, "127.0.0.1", 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    server.base_url = f"{scheme}://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        await server.stop()
