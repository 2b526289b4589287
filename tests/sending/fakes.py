"""A transport that answers as a test says, and messages without a claim behind them."""

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any

from drumbeat.engine.api.transport import Answered, PermitGate
from drumbeat.engine.clock import suspend_aware_ns
from drumbeat.engine.core.outcome import Accepted, NotSent, Outcome, Unknown
from drumbeat.engine.core.retry import Budget
from drumbeat.engine.sending.messages import ClaimedMessage


def claimed(seq: int, expires_ns: int | None = None) -> ClaimedMessage:
    """A message whose payload is its seq; its claim lasts a minute."""
    if expires_ns is None:
        expires_ns = suspend_aware_ns() + 60_000_000_000
    return ClaimedMessage(1, 1, seq, 1, str(seq).encode(), expires_ns, Budget())


class FakeTransport:
    """Keeps the order of the port: connection, gate, write, reply. Latency is `hold` or `latency_s`.

    `keeps`: what has been opened once is free for the fast path afterwards, as with lanes. `answers_per_s`: how many
    it answers a second; the others wait for their turn.
    """

    def __init__(self, latency_s: float = 0.0, *, keeps: bool = False) -> None:
        self.keeps = keeps
        self.free: list[FakeConnection] = []
        self.fast = 0
        self.latency_s = latency_s
        self.hold: asyncio.Event | None = None
        self.answers_per_s = math.inf
        self._turn_s = 0.0
        self.reply: Callable[[int], Outcome] = lambda seq: Accepted(f"wamid.{seq}")
        self.connecting: asyncio.Event | None = None
        self.written: list[int] = []
        self.open = 0
        self.most_open = 0

    async def send(self, phone_number_id: str, payload: bytes, gate: PermitGate) -> Outcome:
        if self.connecting is not None:
            await self.connecting.wait()
        try:
            if not await gate():
                return NotSent("claim expired")
            return await self.exchange(payload)
        finally:
            if self.keeps:
                self.free.append(FakeConnection(self))

    async def exchange(self, payload: bytes) -> Outcome:
        self.written.append(int(payload))
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self.latency_s + self._until_its_turn_s())
            if self.hold is not None:
                await self.hold.wait()
            return self.reply(int(payload))
        finally:
            self.open -= 1

    def _until_its_turn_s(self) -> float:
        now_s = time.monotonic()
        self._turn_s = max(now_s, self._turn_s + 1 / self.answers_per_s)
        return self._turn_s - now_s

    def acquire_idle(self) -> "FakeConnection | None":
        return self.free.pop() if self.free else None

    def set_token(self, token: str) -> None:
        return None

    async def close(self) -> None:
        return None


class FakeConnection:
    """Opened by a `FakeTransport` and kept by it."""

    def __init__(self, transport: FakeTransport) -> None:
        self._transport = transport
        self._exchange: asyncio.Task[Outcome] | None = None

    def write(self, phone_number_id: str, payload: bytes, answered: Answered) -> None:
        def ended(exchange: "asyncio.Task[Outcome]") -> None:
            self.release()
            broken = exchange.cancelled() or exchange.exception() is not None
            answered(Unknown("broken") if broken else exchange.result())

        self._transport.fast += 1
        self._exchange = asyncio.create_task(self._transport.exchange(payload))
        self._exchange.add_done_callback(ended)

    def release(self) -> None:
        self._transport.free.append(self)

    def disconnect(self, reason: str) -> None:
        assert self._exchange is not None
        self._exchange.cancel()


class Outcomes:
    """What became of each message, by seq; a second outcome of one message is an error."""

    def __init__(self) -> None:
        self.by_seq: dict[int, Any] = {}
        self.written_ns: dict[int, int | None] = {}

    def __call__(self, message: ClaimedMessage, outcome: Outcome, written_ns: int | None) -> None:
        assert message.seq not in self.by_seq, f"two outcomes of {message.seq}"
        self.by_seq[message.seq] = outcome
        self.written_ns[message.seq] = written_ns
