"""The port through which the flow sends: one payload in, one outcome out.

The order is law: a connection in hand, then the permit, then the write. A permit taken before the connection
would age while a handshake runs, and the pace is judged by the times of writing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from engine.core.outcome import Outcome

Gate = Callable[[], Awaitable[bool]]
"""Awaited once, when a connection is in hand and nothing is written yet. True: write, and the bytes go out
before anything else runs, so take the pacer's permit last and return without another await. False: nothing is
written and the outcome is NotSent. It may be cancelled when the connection breaks meanwhile; a permit that it
had taken by then is lost, never a message. What it raises, `send` raises."""


class Transport(Protocol):
    """Sends to one service. Contract: whatever happens on the way is an outcome, never an exception.

    Never repeats a request, never follows a redirect. NotSent only if no byte was written; Unknown if bytes
    were written and no complete reply came back. Cancelling `send` cancels the request: whether it was
    written is then for the owner of the gate to know.
    """

    async def send(self, phone_number_id: str, payload: bytes, gate: Gate) -> Outcome: ...

    async def close(self) -> None: ...
