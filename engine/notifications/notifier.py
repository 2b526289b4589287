"""The notifier: it delivers notifications beside the work of a process.

Law: it never delays that work and never ends it. Several processes may deliver: each takes what no other has
taken. A delivery may be repeated, if a process is killed between the answer and the record of it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import groupby

from drumbeat.engine.backoff import notification_wait_s
from drumbeat.engine.core.notification import Attempt, Channel, Verdict
from drumbeat.engine.notifications.channels import TellingChannel, open_channels
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.notification_settings import NotificationSettings
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.store.database import LOST_CONNECTION, Pool
from drumbeat.engine.store.notifications import Due, Result, add_of_failures, give_up_old, record, take_due
from drumbeat.engine.store.service_facts import tell_news

ACQUIRE_S = 5.0  # limits the wait for a connection of the pool
STOP_S = 0.5  # limits deliveries under way when a signal ends the process
FLUSH_S = 10.0  # limits due deliveries when a run ends by itself

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pauses:
    """The times between looks. `gather_s` is how long a message waits for others of the same cause."""

    look_s: float = 2.0
    gather_s: float = 2.0
    # between two looks at failures; each look reads counters of campaigns with a limit
    failures_s: float = 10.0


class Notifier:
    """A service that delivers over these channels what any process of the installation has stored."""

    def __init__(self, pool: Pool, channels: Sequence[TellingChannel], pauses: Pauses = Pauses()) -> None:
        self._pool = pool
        self._channels = {channel.channel: channel for channel in channels}
        self._pauses = pauses
        self._look_at_failures_s = 0.0
        self._away = ThrottledLog("notifications_not_read", "notifications_read_again")
        self._failing = {
            channel: ThrottledLog("notification_failed", "notifications_delivered_again")
            for channel in Channel
        }

    async def run(self, ended: asyncio.Event) -> None:
        """Deliver until `ended` is set, and then deliver what is due. Without the database, it waits."""
        while not ended.is_set():
            await self._round_if_reached(self._pauses.gather_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), self._pauses.look_s)
        self._look_at_failures_s = 0.0
        while await self._round_if_reached(gather_s=0.0):
            pass

    async def _round_if_reached(self, gather_s: float) -> int:
        """Run `_round`, and return its result; 0 while the database is away."""
        try:
            taken = await self._round(gather_s)
        except LOST_CONNECTION as problem:
            self._away.report(problem=type(problem).__name__)
            return 0
        self._away.resolve()
        return taken

    async def _round(self, gather_s: float) -> int:
        """Take the due deliveries, make them, and store their results. Return how many were taken."""
        async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
            if asyncio.get_running_loop().time() >= self._look_at_failures_s:
                await add_of_failures(connection)
                await tell_news(connection)
                self._look_at_failures_s = asyncio.get_running_loop().time() + self._pauses.failures_s
            for channel, problem in (await give_up_old(connection, list(self._channels))).items():
                log.error("notifications_given_up", channel=channel, problem=problem)
            due = await take_due(connection, list(self._channels), gather_s=gather_s)
        if not due:
            return 0
        results = await asyncio.gather(*map(self._tell, self._groups(due)))
        async with self._pool.acquire(timeout=ACQUIRE_S) as connection:
            await record(connection, [result for group in results for result in group])
        return len(due)

    def _groups(self, due: list[Due]) -> list[list[Due]]:
        """Return the deliveries in groups: those of the same cause together if the channel combines; else
        each alone.
        """

        def cause(each: Due) -> tuple[str, ...]:
            told = each.notification
            combines = self._channels[each.channel].combines and told.campaign is not None
            own = () if combines else (told.public_id,)
            return (each.channel, told.event, told.reason_code or "", told.reason, *own)

        return [list(group) for _, group in groupby(sorted(due, key=cause), cause)]

    async def _tell(self, group: list[Due]) -> list[Result]:
        channel = group[0].channel
        attempt = await self._channels[channel].tell([due.notification for due in group])
        self._log(group, attempt)
        return [_result(due, attempt) for due in group]

    def _log(self, group: list[Due], attempt: Attempt) -> None:
        channel, told = group[0].channel, group[0].notification
        if attempt.verdict is not Verdict.DELIVERED:
            self._failing[channel].report(channel=channel, problem=attempt.problem)
            if attempt.verdict is Verdict.GONE:
                log.error("notifications_given_up", channel=channel, problem=attempt.problem)
            return
        self._failing[channel].resolve(channel=channel)
        fields = {"problem": attempt.problem} if attempt.problem else {}
        log.info(
            "notification_sent", channel=channel, notification=told.event, campaign=told.campaign, **fields
        )


def _result(due: Due, attempt: Attempt) -> Result:
    """Return the result of a delivery. A receiver that is gone is not tried again."""
    state = {Verdict.DELIVERED: "delivered", Verdict.GONE: "given_up"}.get(attempt.verdict, "waiting")
    wait_s = notification_wait_s(due.attempt_no) if state == "waiting" else 0.0
    return Result(due.notification_id, due.channel, state, attempt.problem or None, wait_s)


@asynccontextmanager
async def notifying(
    pool: Pool, settings: NotificationSettings, stop: asyncio.Event, pauses: Pauses = Pauses()
) -> AsyncIterator[None]:
    """Deliver notifications while the block runs, and at its end what is due.

    The end takes FLUSH_S at most, or STOP_S if a signal has set `stop`. Without a channel it does nothing.
    """
    channels = open_channels(settings)
    if not channels:
        yield
        return
    ended = asyncio.Event()
    task = asyncio.create_task(Notifier(pool, channels, pauses).run(ended))
    task.add_done_callback(_log_fault)
    try:
        yield
    finally:
        ended.set()
        await asyncio.wait([task], timeout=STOP_S if stop.is_set() else FLUSH_S)
        task.cancel()  # what was not delivered in time waits in the database for another process
        await asyncio.wait([task], timeout=STOP_S)


def _log_fault(task: "asyncio.Task[None]") -> None:
    """Log a fault of the notifier, which must not stop a campaign: the work beside it continues."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("notifier_failed", exc_info=error)
