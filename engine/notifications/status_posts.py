"""The posts of applied statuses to a program: signed, in batches, in their order.

Law: the place moves only after an answer of 2xx, so no status is left out, whichever process is killed. A
batch may come twice. One process posts at a time.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

import aiohttp
import orjson

from drumbeat.engine.backoff import notification_wait_s
from drumbeat.engine.notifications.signed_post import SIGNATURE_HEADER, signature
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.notification_settings import WebhookSettings
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.store.status_feed import (
    FedStatuses,
    end_turn,
    posted_up_to,
    read_feed,
    take_turn,
)
from drumbeat.engine.system_error import system_error_text

SCHEMA = 1
BATCH_MAX = 500
LOOK_S = 1.0  # how long a status waits for others at most
ANSWER_S_MAX = 10.0
ACQUIRE_S = 5.0
STOP_S = 0.5

log = get_logger(__name__)


def as_json(fed: FedStatuses) -> dict[str, Any]:
    """Return the body of a post. Keys are added, never renamed."""
    return {
        "schema": SCHEMA,
        "statuses": [
            {
                "id": str(status.place),
                "campaign": status.campaign,
                "external_id": status.external_id,
                "phone": status.phone,
                "row": status.row,
                "status": status.status,
                "at": status.at,
                "code": status.code,
            }
            for status in fed.statuses
        ],
        "next": str(fed.next),
    }


class StatusPoster:
    """A service that posts statuses to one address."""

    def __init__(self, pool: Pool, settings: WebhookSettings, *, look_s: float = LOOK_S) -> None:
        self._pool = pool
        self._url = settings.url.get_secret_value()
        self._secret = settings.secret.get_secret_value()
        self._look_s = look_s
        self._failing = ThrottledLog("statuses_not_posted", "statuses_posted_again")

    async def run(self, ended: asyncio.Event) -> None:
        """Post until `ended` is set. Without the database, it waits."""
        while not ended.is_set():
            read = 0
            with suppress(*LOST_CONNECTION):
                read = await self._round()
            if read < BATCH_MAX:
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), self._look_s)

    async def _round(self) -> int:
        """Post one batch. Return how many statuses it took from the feed; 0 if nothing is due."""
        async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
            place = await posted_up_to(connection)
            if (await read_feed(connection, place, 1)).next == place:
                return 0
            turn = await take_turn(connection, uuid4())
            if turn is None:
                return 0
            fed = await read_feed(connection, turn.place, BATCH_MAX)
        problem = await self._post(fed) if fed.statuses else ""
        async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
            posted = None if problem else fed.next
            await end_turn(connection, turn, posted, notification_wait_s(turn.attempts + 1))
        if problem:
            self._failing.report(problem=problem)
            return 0
        self._failing.resolve()
        return len(fed.statuses)

    async def _post(self, fed: FedStatuses) -> str:
        """Post a batch. Return why it was not taken; empty if it was."""
        body = orjson.dumps(as_json(fed), option=orjson.OPT_UTC_Z)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "drumbeat",
            SIGNATURE_HEADER: signature(body, self._secret, int(time.time())),
        }
        timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(self._url, data=body, headers=headers, allow_redirects=False) as response,
            ):
                return "" if 200 <= response.status < 300 else f"HTTP {response.status}"
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return system_error_text(error)


@asynccontextmanager
async def posting_statuses(
    pool: Pool, settings: WebhookSettings | None, stop: asyncio.Event
) -> AsyncIterator[None]:
    """Post statuses while the block runs. Without settings it does nothing."""
    if settings is None:
        yield
        return
    task = asyncio.create_task(StatusPoster(pool, settings).run(stop))
    task.add_done_callback(_log_fault)
    try:
        yield
    finally:
        await asyncio.wait([task], timeout=STOP_S if stop.is_set() else 0)
        task.cancel()  # what was not posted waits in the database for another process
        await asyncio.wait([task], timeout=STOP_S)


def _log_fault(task: "asyncio.Task[None]") -> None:
    """Log a fault, which must not end the receiver."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("status_posts_failed", exc_info=error)
