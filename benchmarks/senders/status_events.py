"""The status events of a measurement, three a message: the webhook receiver runs beside the emulator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from drumbeat.benchmarks.harness.emulators import OWN_SECRET, MeasuredEmulator
from drumbeat.benchmarks.harness.machine import cpu_s
from drumbeat.benchmarks.harness.processes import BenchmarkFailed, listening
from drumbeat.benchmarks.harness.results import StatusEvents
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.engine.store.database import connect

PER_MESSAGE = 3
LAST_S_MAX = 120.0  # from the last message to the last applied event
POLL_PERIOD_S = 0.2


@dataclass(frozen=True, slots=True)
class ReceiverProcess:
    """A receiver that listens. It used `start_cpu_s` of CPU to start."""

    pid: int
    start_cpu_s: float


@contextmanager
def receiving(database_url: str, emulator: MeasuredEmulator) -> Iterator[ReceiverProcess]:
    """Store and apply the emulator's events in this database during the block."""
    settings = {
        "database_url": database_url,
        "app_secret": OWN_SECRET,
        "verify_token": "bench",
        "product": emulator.product,
    }
    with listening("webhooks", "serve", "--port", "0", settings=settings) as running:
        emulator.control.post("callback", {"url": running.url})
        yield ReceiverProcess(running.pid, cpu_s(running.pid))


async def wait_for_events(
    database_url: str, emulator: MeasuredEmulator, receiver: ReceiverProcess, messages: int
) -> StatusEvents:
    """Wait until every event of these messages is applied; BenchmarkFailed if some do not arrive."""
    began_s = time.monotonic()
    connection = await connect(database_url)
    try:
        # In this order: an event that arrives between the two queries is seen by the second.
        while await _pending(emulator) or await connection.fetchval(SQL["events_waiting"]):
            if time.monotonic() - began_s > LAST_S_MAX:
                raise BenchmarkFailed(
                    f"some events were not applied {LAST_S_MAX:.0f} s after the last message"
                )
            await asyncio.sleep(POLL_PERIOD_S)
        late_s = time.monotonic() - began_s
        read = await connection.fetchval(SQL["count_read"])
    finally:
        await connection.close()
    if read != messages:
        raise BenchmarkFailed(f"{read} of {messages} messages are recorded as read: events were lost")
    return StatusEvents(PER_MESSAGE * read, late_s, cpu_s(receiver.pid) - receiver.start_cpu_s)


async def _pending(emulator: MeasuredEmulator) -> int:
    return int((await asyncio.to_thread(emulator.control.get, "events/summary"))["pending"])
