"""The port through which the flow sends: one payload in, one outcome out.

The order is law: get a connection, then take the permit, then write. A permit taken earlier would age during
the handshake, and the pace is judged by the times of writing.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from drumbeat.engine.core.outcome import Outcome

# Shorter than a server keeps an idle connection open: nothing may be written while the server closes it.
KEEPALIVE_S = 15.0
CONNECT_S_MAX = 10.0  # includes the wait for a free slot in the pool
REPLY_S_MAX = 30.0  # from the write to the end of the reply; the service answers within a second or two
TOTAL_S_MAX = 60.0  # limits two spans: from `send` to the write, and from the write to the end of the reply
DNS_CACHE_S = 60
CONNECTIONS = 100

PermitGate = Callable[[], Awaitable[bool]]
"""The gate of a request. It is awaited once, when a connection is ready and nothing is written yet.

True: the request is written before any other code runs. Take the pacer's permit last, and return without
another await. False: nothing is written and the outcome is NotSent. If the connection breaks meanwhile, the
gate may be cancelled; a permit that it has already taken is lost, but never a message. `send` raises what the
gate raises.
"""


Answered = Callable[[Outcome], None]
"""The callback that gets the outcome of a written request, once. It must not raise."""


class IdleConnection(Protocol):
    """An idle connection. Call either `write` or `release`, exactly once, before any other code runs."""

    def write(self, phone_number_id: str, payload: bytes, answered: Answered) -> None:
        """Write a request at once. `answered` is called later, never within this call.

        A request that cannot be written whole becomes Unknown.
        """
        ...

    def release(self) -> None:
        """Return the connection unused."""
        ...

    def disconnect(self, reason: str) -> None:
        """Close the connection. A request in flight becomes Unknown."""
        ...


class Transport(Protocol):
    """The way to one service. Contract: every network problem is an outcome, never an exception.

    It never repeats a request and never follows a redirect. The outcome is NotSent only if no byte was
    written, and Unknown if bytes were written and no complete reply came back. Cancelling `send` cancels the
    request; only the owner of the gate then knows whether it was written.
    """

    async def send(self, phone_number_id: str, payload: bytes, gate: PermitGate) -> Outcome: ...

    def acquire_idle(self) -> IdleConnection | None:
        """Return an idle connection without a wait: the fast path. Then take the permit and write the
        request.

        Returns None if no connection is idle, or if the transport has no fast path. Use `send` then.
        """
        ...

    def set_token(self, token: str) -> None:
        """Set the access token of requests that are written from now on."""
        ...

    async def close(self) -> None: ...
