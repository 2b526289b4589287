"""The server-sent events: the values that somebody looks at, sent again whenever they changed.

Each event holds all that is shown, so a connection that was lost and returned misses nothing. A library for
such events would replace twenty lines here. It would not replace the rest: sessions that end, a database that
is away, and the server's own end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import orjson
from aiohttp import web

from drumbeat.campaigns.console.web.context import console_of, has_left, maybe_caller, wants_head
from drumbeat.engine.store.database import LOST_CONNECTION

PERIOD_S = 1.0
# An event without content keeps proxies from closing a silent stream, and shows each side that the other is
# there. Then the session is looked at again, too: also of a stream that is never silent.
BEAT_S = 15.0
BEAT = "beat"
RETRY_MS = 2_000  # when a browser connects again
AWAY = "away"  # the event while the database does not answer


async def stream_events(
    request: web.Request, name: str, read: Callable[[], Awaitable[object]]
) -> web.StreamResponse:
    """Send the values of `read`, texts or JSON, as events of this name until the reader leaves, the session
    ends, or the console stops.
    """
    console = console_of(request)
    first = await read()  # an error is still an ordinary reply
    response = web.StreamResponse(
        headers={
            "Content-Type": "text/event-stream",
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",  # of proxies that know it: pass each event on at once
        }
    )
    if wants_head(request):
        return response
    with console.streams.one():
        await response.prepare(request)
        with suppress(ConnectionResetError):
            await response.write(f"retry: {RETRY_MS}\n\n".encode())
            await _send(request, response, name, read, first)
    return response


async def _send(
    request: web.Request,
    response: web.StreamResponse,
    name: str,
    read: Callable[[], Awaitable[object]],
    latest: object,
) -> None:
    stop = console_of(request).stop
    await response.write(event(name, latest))
    asked_s = time.monotonic()
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), PERIOD_S)
        if has_left(request):
            return  # a write would say so too, but only the next one: the database would be read for nobody
        kind, value = await _read(name, read)
        if value != latest:
            await response.write(event(kind, value))
            latest = value
        if time.monotonic() - asked_s >= BEAT_S:
            if not await _may_go_on(request):
                return
            await response.write(event(BEAT, ""))
            asked_s = time.monotonic()


async def _read(name: str, read: Callable[[], Awaitable[object]]) -> tuple[str, object]:
    try:
        return name, await read()
    except LOST_CONNECTION:
        return AWAY, ""


async def _may_go_on(request: web.Request) -> bool:
    """Return whether the caller who opened the stream may still see it. An open stream does not keep a
    session open.
    """
    try:
        caller = await console_of(request).door.caller(request, used=False)
    except LOST_CONNECTION:
        return True
    before = maybe_caller(request)
    return caller is not None and before is not None and caller.role == before.role


def event(name: str, value: object) -> bytes:
    """Return one event. The lines of a text come one by one."""
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n".encode()
