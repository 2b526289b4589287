"""The delivery of events to their subscribers: signed, in batches, at least once, without delaying a send."""

import asyncio
from typing import Protocol

import aiohttp
import structlog

from drumbeat.emulator.clock import Clock
from drumbeat.emulator.events.envelope import signature
from drumbeat.emulator.events.events import Events
from drumbeat.emulator.events.packer import Packer
from drumbeat.emulator.events.subscriber import CONCURRENCY, Batch, Subscriber

log = structlog.get_logger("emulator")

# The interval between two looks for due events. Meanwhile a batch gathers.
PUMP_INTERVAL_S = 0.02
# A subscriber that has not answered by then has refused.
POST_TIMEOUT_S = 10.0


class EventSource(Protocol):
    """The source of the events. The attributes are read anew each time, because a reset replaces them."""

    clock: Clock
    events: Events
    packer: Packer

    def do_what_is_due(self) -> None:
        """Queue the events whose time has come."""
        ...


class Deliverer:
    """A task that posts the events of a source."""

    def __init__(self, source: EventSource) -> None:
        self._source = source
        self._posts: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Pump until cancelled; posts that are open then are cancelled too."""
        timeout = aiohttp.ClientTimeout(total=POST_TIMEOUT_S)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
            try:
                while True:
                    try:
                        self._pump(session)
                    except Exception:
                        # One event that cannot be handled must not stop all others.
                        log.exception("event_delivery_failed")
                    await asyncio.sleep(PUMP_INTERVAL_S)
            finally:
                for task in self._posts:
                    task.cancel()
                await asyncio.gather(*self._posts, return_exceptions=True)

    def _pump(self, session: aiohttp.ClientSession) -> None:
        self._source.do_what_is_due()
        clock, packer = self._source.clock, self._source.packer
        for subscriber in self._source.events.subscribers:
            while subscriber.in_flight < CONCURRENCY and (batch := packer.next_batch(subscriber)):
                subscriber.in_flight += 1
                subscriber.in_flight_updates += batch.updates
                task = asyncio.create_task(self._deliver(session, clock, subscriber, batch))
                self._posts.add(task)
                task.add_done_callback(self._posts.discard)

    async def _deliver(
        self, session: aiohttp.ClientSession, clock: Clock, subscriber: Subscriber, batch: Batch
    ) -> None:
        try:
            delivered = await _post(session, subscriber, batch)
        finally:
            subscriber.in_flight -= 1
            subscriber.in_flight_updates -= batch.updates
        subscriber.settle(batch, delivered=delivered, now_ns=clock.now_ns())


async def _post(session: aiohttp.ClientSession, subscriber: Subscriber, batch: Batch) -> bool:
    headers = {
        "Content-Type": "application/json",
        "X-Hub-Signature-256": signature(batch.body, subscriber.app_secret),
    }
    if batch.encoding is not None:
        headers["Content-Encoding"] = batch.encoding
    try:
        async with session.post(
            subscriber.url, data=batch.body, headers=headers, allow_redirects=False
        ) as reply:
            return reply.status == 200
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False
