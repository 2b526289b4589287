"""The housekeeping of campaigns: it starts those that are due, expires the overdue, and ends the done."""

import time

from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.core.stops import CampaignPause
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.containment import contained
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.store.campaign_states import apply_if_allowed
from drumbeat.engine.store.closing import close_ranges, finish_campaign
from drumbeat.engine.store.database import LOST_CONNECTION, Connection
from drumbeat.engine.store.in_doubt import resend_by_policy
from drumbeat.engine.store.queries import queries

log = get_logger(__name__)


class CampaignHousekeeping:
    """The housekeeping of every campaign, or only of the one with `campaign_id`."""

    def __init__(self, context: FlowContext, campaign_id: int | None) -> None:
        self._context = context
        self._campaign_cache = context.campaign_cache
        self._only = campaign_id
        self._search_after_s = 0.0
        self._sample_after_s = 0.0
        # campaigns that ended early, with the reason; their ranges are still open
        self.to_close: dict[int, str] = {}

    async def move_due(self, connection: Connection) -> None:
        """Start the campaigns that are due, and expire those that are overdue."""
        sql = queries("campaign_cache")
        for row in await connection.fetch(sql["startable"], self._only):
            with contained(self._campaign_cache, row["campaign_id"]):
                await self._start(connection, row["campaign_id"])
        for row in await connection.fetch(sql["overdue"], self._only):
            with contained(self._campaign_cache, row["campaign_id"]):
                await self._expire(connection, row["campaign_id"], row["name"])
        await self._find_unclosed(connection)

    async def _start(self, connection: Connection, campaign_id: int) -> None:
        """Start a campaign at its time, and have its templates read: they may be paused since its release.

        It does not wait for the answer: management calls may be used up, and a refused message pauses it too.
        """
        if await apply_if_allowed(connection, campaign_id, CampaignEvent.START, "") is not None:
            await connection.execute(queries("templates")["compare_those_of"], campaign_id)

    async def _expire(self, connection: Connection, campaign_id: int, name: str) -> None:
        event, code = CampaignEvent.EXPIRE, ReasonCode.EXPIRED
        if await apply_if_allowed(connection, campaign_id, event, "its time is over", code) is not None:
            log.warning("campaign_expired", campaign=name, campaign_id=campaign_id)
            self.to_close[campaign_id] = "expired"

    async def _find_unclosed(self, connection: Connection) -> None:
        """Find campaigns whose ranges are not all closed because a cancel or an expiry was killed."""
        if time.monotonic() < self._search_after_s:
            return
        for row in await connection.fetch(queries("campaign_cache")["unclosed"], self._only):
            self.to_close[row["campaign_id"]] = row["state"]
        self._search_after_s = time.monotonic() + self._context.timing.unclosed_period_s

    async def close_ended(self) -> None:
        """Close the ranges of campaigns that ended early. For a large one this takes longer than a lease."""
        try:
            while self.to_close:
                campaign_id, reason = next(iter(self.to_close.items()))
                with contained(self._campaign_cache, campaign_id):  # `_find_unclosed` finds it again
                    async with self._context.pool.acquire(timeout=5) as connection:
                        await close_ranges(connection, campaign_id, reason)
                del self.to_close[campaign_id]
        except LOST_CONNECTION as problem:
            self._context.database_away.report(part="closing", problem=type(problem).__name__)

    async def finish(self, connection: Connection) -> None:
        """Finish running campaigns with nothing left. Resends by policy come first, because they keep a
        campaign running.
        """
        await resend_by_policy(connection, silence_s=self._context.service.silence_s)
        for campaign_id in self._campaign_cache.running:
            with contained(self._campaign_cache, campaign_id):
                await self._finish_one(connection, campaign_id)

    async def _finish_one(self, connection: Connection, campaign_id: int) -> None:
        if await connection.fetchval(queries("closing")["has_open_ranges"], campaign_id):
            await self._pause_if_all_stopped(connection, campaign_id)
        elif (unknown := await finish_campaign(connection, campaign_id)) is not None:
            fields = self._campaign_cache.log_fields(campaign_id)
            log.info("campaign_finished", **fields, unknown=unknown)

    async def sample_rates(self, connection: Connection) -> None:
        """Store what the numbers sent so far. The console and the report show their rates over time."""
        if self._campaign_cache.running and time.monotonic() >= self._sample_after_s:
            await connection.execute(queries("rates")["sample_rates"], self._only)
            self._sample_after_s = time.monotonic() + self._context.timing.sample_period_s

    async def _pause_if_all_stopped(self, connection: Connection, campaign_id: int) -> None:
        """Pause a campaign whose numbers are all stopped until a person resumes them."""
        numbers = list(self._campaign_cache[campaign_id].phone_number_ids)
        why = await connection.fetchval(queries("leases")["all_stopped"], numbers)
        if why is not None:
            reason = f"every number is stopped: {why}"
            self._context.stop_requests.add(CampaignPause(campaign_id, reason, ReasonCode.NUMBERS_STOPPED))
