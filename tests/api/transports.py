"""Payloads, misbehaving servers and gates for the tests of transports."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

from drumbeat.engine.api.transport import Transport

from .loopback import Conversation, Script, Server, serving

PAYLOAD = b'{"to":"5511999990000","tag":"once"}'
ACCEPTED = b'{"messaging_product":"chat","contacts":[{"wa_id":"5511"}],"messages":[{"id":"wamid.A"}]}'
_STRAYED = ACCEPTED.replace(b"wamid.A", b"wamid.STRAY")
STRAY = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(_STRAYED), _STRAYED)
OPEN = "open"


class Factory(Protocol):
    """Makes a transport to a base URL. The limits are in seconds; tests keep them short."""

    def __call__(
        self,
        base_url: str,
        *,
        connections: int = 4,
        connect_s: float = 5,
        reply_s: float = 5,
        total_s: float = 10,
    ) -> Transport: ...


async def open_gate() -> bool:
    return True


async def shut_gate() -> bool:
    return False


async def turns_of_the_loop() -> None:
    """Enough turns of the loop to read and handle everything that has arrived on loopback."""
    for _ in range(20):
        await asyncio.sleep(0)


@contextmanager
def no_descriptors() -> Iterator[None]:
    """This process can open no more file descriptors."""
    limits, taken = resource.getrlimit(resource.RLIMIT_NOFILE), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, limits[0]), limits[1]))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def answering(status: int, body: bytes, *headers: str) -> Script:
    """Gives every request the same answer and keeps the connection open."""

    async def script(server: Server, conversation: Conversation) -> None:
        while await server.read(conversation):
            await conversation.answer(status, body, *headers)

    return script


def writing(raw: bytes, *, reset: bool = False) -> Script:
    """Reads a request, writes `raw` and closes the connection."""

    async def script(server: Server, conversation: Conversation) -> None:
        if await server.read(conversation):
            await conversation.write(raw)
            conversation.reset() if reset else conversation.close()

    return script


async def stalling(server: Server, conversation: Conversation) -> None:
    await server.read(conversation)
    await conversation.closed_by_client()


@asynccontextmanager
async def sending(factory: Factory, script: Script, **limits: Any) -> Any:
    async with serving(script) as server:
        transport = factory(server.base_url, **limits)
        async with aclosing_transport(transport):
            yield server, transport


@asynccontextmanager
async def aclosing_transport(transport: Transport) -> Any:
    try:
        yield transport
    finally:
        await transport.close()
