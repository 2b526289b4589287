"""The sender of events: it posts what happened to recipients to the programs that subscribed.

Law: a subscription's events are posted in the order of their numbers, a page at a time, and the next page
only after a 2xx. So nothing is skipped, whatever is killed; a page may come twice. It never delays the work
beside it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aiohttp
import orjson

from drumbeat.engine.backoff import event_wait_s
from drumbeat.engine.core.notification import Verdict
from drumbeat.engine.notifications.signed_post import open_session, post_signed
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.store.recipient_events import (
    EventPage,
    Taken,
    delete_old,
    event_page,
    move,
    note_failure,
    number_events,
    take_due,
)

SCHEMA = 1
POSTED_MAX = 500  # events of one request: about 150 KB
LOOK_S = 0.5  # an event waits for so long at most
DELETE_S = 10.0
ACQUIRE_S = 5.0  # limits the wait for a connection of the pool
STOP_S = 2.0  # limits requests under way when the process ends; what they carry is posted again
SUBSCRIPTION_HEADER = "Drumbeat-Subscription"

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pauses:
    """The times between looks at the database."""

    look_s: float = LOOK_S
    delete_s: float = DELETE_S


class EventSender:
    """A service that delivers to all subscriptions, each on its own: a slow program delays no other."""

    def __init__(self, pool: Pool, pauses: Pauses = Pauses()) -> None:
        self._pool = pool
        self._pauses = pauses
        self._delete_at_s = 0.0
        self._deliveries: set[asyncio.Task[None]] = set()
        self._away = ThrottledLog("recipient_events_not_read", "recipient_events_read_again")
        self._failing: dict[str, ThrottledLog] = {}

    async def run(self, ended: asyncio.Event) -> None:
        """Deliver until `ended` is set. Without the database, it waits."""
        async with open_session() as session:
            try:
                while not ended.is_set():
                    await self._look(session)
                    with suppress(TimeoutError):
                        await asyncio.wait_for(ended.wait(), self._pauses.look_s)
            finally:
                await self._end()

    async def _look(self, session: aiohttp.ClientSession) -> None:
        try:
            async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
                await number_events(connection)
                taken = await take_due(connection)
                if asyncio.get_running_loop().time() >= self._delete_at_s:
                    await delete_old(connection)
                    self._delete_at_s = asyncio.get_running_loop().time() + self._pauses.delete_s
        except LOST_CONNECTION as problem:
            self._away.report(problem=type(problem).__name__)
            return
        self._away.resolve()
        for each in taken:
            delivery = asyncio.create_task(self._deliver(session, each))
            self._deliveries.add(delivery)
            delivery.add_done_callback(self._forget)

    async def _deliver(self, session: aiohttp.ClientSession, taken: Taken) -> None:
        """Post page after page until nothing is left, or the program does not take one."""
        after = taken.through_id
        goes_on = True
        while goes_on:
            async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
                page = await event_page(
                    connection, after, POSTED_MAX, campaign_id=taken.campaign_id, kinds=taken.kinds
                )
            problem = await self._post(session, taken, page) if page.events else ""
            async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
                if problem:
                    await note_failure(connection, taken, problem, event_wait_s(taken.attempts + 1))
                    return
                goes_on = await move(connection, taken, page)
            after = page.next

    async def _post(self, session: aiohttp.ClientSession, taken: Taken, page: EventPage) -> str:
        """Post a page and return the problem; empty if the program took it."""
        body = orjson.dumps(
            {"schema": SCHEMA, "subscription": taken.name, "events": page.events}, option=orjson.OPT_UTC_Z
        )
        headers = {SUBSCRIPTION_HEADER: taken.name}
        attempt = await post_signed(session, taken.url, taken.secret, body, headers)
        failing = self._failing.setdefault(
            taken.name, ThrottledLog("recipient_events_not_taken", "recipient_events_taken_again")
        )
        if attempt.verdict is Verdict.DELIVERED:
            failing.resolve(subscription=taken.name)
            return ""
        failing.report(subscription=taken.name, problem=attempt.problem)
        return attempt.problem or attempt.verdict.value

    def _forget(self, delivery: "asyncio.Task[None]") -> None:
        """Log what ended a delivery, except a lost database. After the lease, it is taken again."""
        self._deliveries.discard(delivery)
        if delivery.cancelled() or (error := delivery.exception()) is None:
            return
        if isinstance(error, LOST_CONNECTION):
            self._away.report(problem=type(error).__name__)
        else:
            log.error("event_sender_failed", exc_info=error)

    async def _end(self) -> None:
        if self._deliveries:
            await asyncio.wait(self._deliveries, timeout=STOP_S)
        for delivery in list(self._deliveries):
            delivery.cancel()
        await asyncio.gather(*self._deliveries, return_exceptions=True)


@asynccontextmanager
async def sending_events(pool: Pool, pauses: Pauses = Pauses()) -> AsyncIterator[None]:
    """Deliver events to programs while the block runs."""
    ended = asyncio.Event()
    task = asyncio.create_task(EventSender(pool, pauses).run(ended))
    task.add_done_callback(_log_fault)
    try:
        yield
    finally:
        ended.set()
        await asyncio.wait([task], timeout=2 * STOP_S)
        task.cancel()
        await asyncio.wait([task], timeout=STOP_S)


def _log_fault(task: "asyncio.Task[None]") -> None:
    """Log a fault of the sender, which must not stop the work beside it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("event_sender_failed", exc_info=error)
