"""The smallest HTTP server: a baseline for servers, and the base of the strict server."""

from __future__ import annotations

import asyncio
from typing import cast

import httptools


class BareProtocol(asyncio.Protocol):
    """A protocol that parses HTTP and answers each request with the same bytes."""

    def __init__(self, reply: bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") -> None:
        self._reply = reply
        self._parser = httptools.HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.transport.write(self._reply)
