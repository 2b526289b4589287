"""Lanes to a server on loopback, by the slow path and by the fast path."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from drumbeat.engine.api.lanes import LaneTransport
from drumbeat.engine.api.transport import PermitGate, Transport
from drumbeat.engine.core.outcome import NotSent, Outcome, Unknown

from .transports import shut_gate


def lane_transport(
    base_url: str, *, connections: int = 4, connect_s: float = 5, reply_s: float = 5, total_s: float = 10
) -> Transport:
    return LaneTransport(
        base_url, "the-token", connections=connections, connect_s=connect_s, reply_s=reply_s, total_s=total_s
    )


class FastPathTransport:
    """Writes to an idle connection, which a message that stopped at its gate has opened before."""

    def __init__(self, base_url: str, **limits: Any) -> None:
        self._transport = lane_transport(base_url, **limits)
        self.close = self._transport.close
        self.acquire_idle = self._transport.acquire_idle

    async def send(self, phone_number_id: str, payload: bytes, gate: PermitGate) -> Outcome:
        unopened = await self._transport.send(phone_number_id, payload, shut_gate)
        if isinstance(unopened, NotSent) and (unopened.unreachable or unopened.exhausted):
            return unopened
        if not await gate():
            return NotSent("claim expired")
        connection = self.acquire_idle()
        if connection is None:
            return NotSent("closed meanwhile", unreachable=True)
        reply: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        connection.write(phone_number_id, payload, reply.set_result)
        try:
            return await asyncio.shield(reply)
        except asyncio.CancelledError:
            connection.disconnect("cancelled")
            assert isinstance(reply.result(), Unknown)
            raise


@asynccontextmanager
async def lanes(base_url: str, **options: Any) -> AsyncIterator[LaneTransport]:
    transport = LaneTransport(base_url, "the-token", **options)
    try:
        yield transport
    finally:
        await transport.close()
