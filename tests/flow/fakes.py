"""A service that answers as a test says, and claims out of thin air."""

import asyncio
from collections.abc import Callable
from typing import Any

from engine.api.transport import Gate
from engine.clock import suspend_aware_ns
from engine.core.outcome import Accepted, NotSent, Outcome
from engine.core.retry import Budget
from engine.flow import Claimed


def claimed(seq: int, expires_ns: int | None = None) -> Claimed:
    """A message whose payload is its seq; its claim lasts a minute."""
    if expires_ns is None:
        expires_ns = suspend_aware_ns() + 60_000_000_000
    return Claimed(1, 1, seq, 1, str(seq).encode(), expires_ns, Budget())


class FakeTransport:
    """Keeps the order of the port: connection, gate, write, reply. Latency is `hold` or `latency_s`."""

    def __init__(self, latency_s: float = 0.0) -> None:
        self.latency_s = latency_s
        self.hold: asyncio.Event | None = None
        self.reply: Callable[[int], Outcome] = lambda seq: Accepted(f"wamid.{seq}")
        self.connecting: asyncio.Event | None = None
        self.written: list[int] = []
        self.open = 0
        self.most_open = 0

    async def send(self, phone_number_id: str, payload: bytes, gate: Gate) -> Outcome:
        if self.connecting is not None:
            await self.connecting.wait()
        if not await gate():
            return NotSent("permit expired")
        self.written.append(int(payload))
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self.latency_s)
            if self.hold is not None:
                await self.hold.wait()
            return self.reply(int(payload))
        finally:
            self.open -= 1

    async def close(self) -> None:
        return None


class Outcomes:
    """What became of each message, by seq; a second outcome of one message is an error."""

    def __init__(self) -> None:
        self.by_seq: dict[int, Any] = {}
        self.written_ns: dict[int, int | None] = {}

    def __call__(self, message: Claimed, outcome: Outcome, written_ns: int | None) -> None:
        assert message.seq not in self.by_seq, f"two outcomes of {message.seq}"
        self.by_seq[message.seq] = outcome
        self.written_ns[message.seq] = written_ns
