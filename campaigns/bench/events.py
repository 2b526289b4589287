"""Three status events a message on: the receiver and its folder as a process beside the service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from campaigns.bench.machine import cpu_s
from campaigns.bench.processes import BenchFailed, listening
from campaigns.bench.service import OWN_SECRET, Service
from engine.store.database import connect
from engine.store.queries import queries

PER_MESSAGE = 3
LAST_S_MAX = 120.0  # from the last message to the last folded event
LOOK_PERIOD_S = 0.2


@dataclass(frozen=True, slots=True)
class Receiver:
    """A receiver that listens; `began_s` of its CPU belong to its start."""

    pid: int
    began_s: float


@dataclass(frozen=True, slots=True)
class Events:
    """What came back: `folded` events, the last `late_s` after the last message; CPU of the receiver."""

    folded: int
    late_s: float
    cpu_s: float


@contextmanager
def receiving(database_url: str, service: Service) -> Iterator[Receiver]:
    """Receive what the service tells, from now on, into this database."""
    settings = {
        "database_url": database_url,
        "app_secret": OWN_SECRET,
        "verify_token": "bench",
        "product": service.product,
    }
    with listening("webhooks", "serve", "--port", "0", settings=settings) as running:
        service.control.post("callback", {"url": running.url})
        yield Receiver(running.pid, cpu_s(running.pid))


async def take_events(database_url: str, service: Service, receiver: Receiver, messages: int) -> Events:
    """Wait until every event of so many messages is folded; BenchFailed when some do not come."""
    sql = queries("bench")
    began_s = time.monotonic()
    connection = await connect(database_url)
    try:
        # In this order: what came between the two looks is seen by the second.
        while await _coming(service) or await connection.fetchval(sql["events_waiting"]):
            if time.monotonic() - began_s > LAST_S_MAX:
                raise BenchFailed(f"not every event was folded {LAST_S_MAX:.0f} s after the last message")
            await asyncio.sleep(LOOK_PERIOD_S)
        late_s = time.monotonic() - began_s
        read = await connection.fetchval(sql["read"])
    finally:
        await connection.close()
    if read != messages:
        raise BenchFailed(f"{read} of {messages} messages are known as read: events were lost")
    return Events(PER_MESSAGE * read, late_s, cpu_s(receiver.pid) - receiver.began_s)


async def _coming(service: Service) -> int:
    return int((await asyncio.to_thread(service.control.get, "events/summary"))["pending"])
