"""The reply times of a sample of the engine's requests, from the write to the outcome, and their
percentiles.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence

from drumbeat.engine.api.transport import Answered, IdleConnection, PermitGate, Transport
from drumbeat.engine.core.outcome import NotSent, Outcome, Unknown

PERCENTILES = (50.0, 95.0, 99.0, 99.9)
# Upper bounds of the histogram in ms: each 2^(1/3) times the last, from 0.25 ms to 16 s.
BOUNDS_MS = tuple(0.25 * 2 ** (step / 3) for step in range(49))
TIMED_MAX = 200_000  # 8 bytes each
# A worker reports so many of these: enough for a p99.9, and the line fits into the buffer of a pipe.
REPORTED_MAX = 5_000


def percentiles(ascending: Sequence[float]) -> dict[str, float]:
    """Return the percentiles by name (`p50`, `p99.9`, `max`), empty without requests."""
    if not ascending:
        return {}
    last = len(ascending) - 1
    found = {f"p{percent:g}": ascending[round(last * percent / 100)] for percent in PERCENTILES}
    return {name: round(value, 3) for name, value in {**found, "max": ascending[-1]}.items()}


def evenly(ascending: Sequence[float], most: int = REPORTED_MAX) -> list[float]:
    """Return at most `most` of them, evenly spaced by rank, with the first and the last."""
    last = len(ascending) - 1
    if last < most:
        return [round(value, 3) for value in ascending]
    return [round(ascending[round(rank * last / (most - 1))], 3) for rank in range(most)]


def histogram(ascending: Sequence[float]) -> list[list[float]]:
    """Return [upper bound in ms, requests up to it and above the bound before], without empty bars."""
    counts: dict[float, int] = {}
    index = 0
    for latency_ms in ascending:
        while index < len(BOUNDS_MS) - 1 and latency_ms > BOUNDS_MS[index]:
            index += 1
        counts[BOUNDS_MS[index]] = counts.get(BOUNDS_MS[index], 0) + 1
    return [[round(bound, 3), count] for bound, count in counts.items()]


class TimedTransport:
    """A transport that times one in `every` requests; a request without a reply is not counted.

    Timing every request would add more than 1 % to the cost of a message.
    """

    def __init__(self, transport: Transport, every: int) -> None:
        self._transport = transport
        self._every = every
        self._turn = 0
        self.latencies_ms = array("d")

    async def send(self, phone_number_id: str, payload: bytes, gate: PermitGate) -> Outcome:
        if not self._is_due():
            return await self._transport.send(phone_number_id, payload, gate)
        written_s = 0.0

        async def timed() -> bool:
            nonlocal written_s
            opened = await gate()
            written_s = time.perf_counter()
            return opened

        outcome = await self._transport.send(phone_number_id, payload, timed)
        self.record(written_s, outcome)
        return outcome

    def acquire_idle(self) -> IdleConnection | None:
        connection = self._transport.acquire_idle()
        return _Timed(connection, self) if connection is not None and self._is_due() else connection

    def set_token(self, token: str) -> None:
        self._transport.set_token(token)

    async def close(self) -> None:
        await self._transport.close()

    def record(self, written_s: float, outcome: Outcome) -> None:
        """Record the outcome of a request that was written at `written_s`."""
        if not isinstance(outcome, (NotSent, Unknown)) and len(self.latencies_ms) < TIMED_MAX:
            self.latencies_ms.append((time.perf_counter() - written_s) * 1e3)

    def _is_due(self) -> bool:
        self._turn += 1
        return self._turn % self._every == 0


class _Timed:
    """A connection for one request that is timed."""

    def __init__(self, connection: IdleConnection, transport: TimedTransport) -> None:
        self._connection = connection
        self._transport = transport

    def write(self, phone_number_id: str, payload: bytes, answered: Answered) -> None:
        written_s = time.perf_counter()

        def timed(outcome: Outcome) -> None:
            self._transport.record(written_s, outcome)
            answered(outcome)

        self._connection.write(phone_number_id, payload, timed)

    def release(self) -> None:
        self._connection.release()

    def disconnect(self, reason: str) -> None:
        self._connection.disconnect(reason)
