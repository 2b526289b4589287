"""The port through which the flow sends: one payload in, one outcome out.

The order is law: a connection in hand, then the permit, then the write. A permit taken before the connection
would age while a handshake runs, and the pace is judged by the times of writing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from engine.core.outcome import Outcome

# Shorter than servers keep an idle connection, so that none is written to while they close it.
KEEPALIVE_S = 15.0
CONNECT_S_MAX = 10.0  # waiting for a place in the pool included
REPLY_S_MAX = 30.0  # from the write to the end of the reply; the service answers within a second or two
TOTAL_S_MAX = 60.0  # from `send` to the write, and from there to the end of the reply
DNS_CACHE_S = 60
CONNECTIONS = 100

Gate = Callable[[], Awaitable[bool]]
"""Awaited once, when a connection is in hand and nothing is written yet. True: write, and the bytes go out
before anything else runs, so take the pacer's permit last and return without another await. False: nothing is
written and the outcome is NotSent. It may be cancelled when the connection breaks meanwhile; a permit that it
had taken by then is lost, never a message. What it raises, `send` raises."""


Answered = Callable[[Outcome], None]
"""Called once with what became of a written request; it must not raise."""


class Connection(Protocol):
    """A connection in hand on which nothing is under way: `write` to it or `put_back`, exactly one of them,
    before anything else runs.
    """

    def write(self, phone_number_id: str, payload: bytes, answered: Answered) -> None:
        """Write a request at once. `answered` comes later, never within this call; what cannot be written
        whole is Unknown.
        """
        ...

    def put_back(self) -> None: ...

    def drop(self, reason: str) -> None:
        """End the request under way, which becomes Unknown."""
        ...


class Transport(Protocol):
    """Sends to one service. Contract: whatever happens on the way is an outcome, never an exception.

    Never repeats a request, never follows a redirect. NotSent only if no byte was written; Unknown if bytes
    were written and no complete reply came back. Cancelling `send` cancels the request: whether it was
    written is then for the owner of the gate to know.
    """

    async def send(self, phone_number_id: str, payload: bytes, gate: Gate) -> Outcome: ...

    def free_connection(self) -> Connection | None:
        """The short way, without a wait: a free connection, after which the permit is taken and the request
        written. None where there is none, or where the transport knows no such way: then `send`.
        """
        ...

    async def close(self) -> None: ...
