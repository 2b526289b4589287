"""The watch over failures of running campaigns: it judges their canaries and their lists, and keeps them to
their error budgets.

Every process that sends a campaign does this, on what is stored. A verdict is made under the campaign's lock,
so it is made once, and no approval is missed.
"""

import time
from datetime import timedelta

from drumbeat.engine.core.canary import CanaryVerdict, in_words
from drumbeat.engine.core.max_failed import exceeds_max_failed
from drumbeat.engine.core.states import CampaignEvent, CampaignState, ReasonCode
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.containment import contained
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.store.campaign_states import apply_if_allowed, set_reason
from drumbeat.engine.store.canaries import (
    StoredCanary,
    note_sent,
    pass_canary,
    read_budget,
    read_canary,
    read_list_health,
)
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

UNDER_WAY = (CanaryVerdict.SENDING, CanaryVerdict.WAITING)

log = get_logger(__name__)


class CampaignHealth:
    """The health of the campaigns in the cache. Only of those that are `is_watched`, more than the list is
    looked at.
    """

    def __init__(self, context: FlowContext) -> None:
        self._cache = context.campaign_cache
        self._period_s = context.timing.health_period_s
        self._after_s = 0.0

    async def check(self, connection: Connection) -> None:
        """Check each campaign, once in `health_period_s`."""
        if time.monotonic() < self._after_s:
            return
        self._after_s = time.monotonic() + self._period_s
        for campaign_id in self._cache.running:
            with contained(self._cache, campaign_id):
                if self._cache[campaign_id].is_watched and not self._cache[campaign_id].stopped:
                    await self._check_canary(connection, campaign_id)
                    await self._check_budget(connection, campaign_id)
                if not self._cache[campaign_id].stopped:
                    await self._check_list(connection, campaign_id)

    async def _check_canary(self, connection: Connection, campaign_id: int) -> None:
        canary = await read_canary(connection, campaign_id)
        if canary is None or canary.passed_at is not None:
            return
        if canary.verdict is not CanaryVerdict.SENDING and canary.sent_at is None:
            await note_sent(connection, campaign_id)
        if canary.verdict in UNDER_WAY:
            await self._show(connection, campaign_id, _waiting(canary), ReasonCode.CANARY)
            return
        async with connection.transaction():
            await connection.execute(queries("campaigns")["lock_state"], campaign_id)
            decided = await read_canary(connection, campaign_id)
            if decided is not None and decided.passed_at is None:
                await self._decide(connection, campaign_id, decided)

    async def _decide(self, connection: Connection, campaign_id: int, canary: StoredCanary) -> None:
        if canary.verdict is CanaryVerdict.FAILED:
            words = f"the canary failed: {in_words(canary.counts)}, more than {canary.max_failed}"
            await self._pause(connection, campaign_id, words, ReasonCode.CANARY_FAILED)
        elif canary.verdict is CanaryVerdict.SILENT:
            waited = f"{canary.counts.reported:,} of {canary.counts.sent_to:,} have a status"
            words = f"the canary has too few statuses after {canary.wait_s / 60:g} min: {waited}"
            await self._pause(connection, campaign_id, words, ReasonCode.CANARY_SILENT)
        elif canary.lacks_approval:
            words = f"the canary is healthy and waits for approval: {in_words(canary.counts)}"
            await self._pause(connection, campaign_id, words, ReasonCode.APPROVAL_NEEDED)
        else:
            await pass_canary(connection, campaign_id)
            await self._show(connection, campaign_id, "", None)
            self._cache.note_free(campaign_id, is_free=True)
            log.info("canary_passed", **self._cache.log_fields(campaign_id), result=in_words(canary.counts))

    async def _show(
        self, connection: Connection, campaign_id: int, words: str, code: ReasonCode | None
    ) -> None:
        """Store the reason, unless the campaign waits for something else: `CampaignReader` stores that."""
        if self._cache.sends(campaign_id):
            await set_reason(connection, campaign_id, CampaignState.RUNNING, words, code)

    async def _check_budget(self, connection: Connection, campaign_id: int) -> None:
        budget = await read_budget(connection, campaign_id)
        if budget is None or not exceeds_max_failed(budget.failed, budget.recipients, budget.pause_at_failed):
            return
        words = (
            f"{budget.failed:,} of {budget.recipients:,} recipients failed,"
            f" more than the limit of {budget.pause_at_failed}"
        )
        await self._pause(connection, campaign_id, words, ReasonCode.FAILURES_EXCEEDED)

    async def _check_list(self, connection: Connection, campaign_id: int) -> None:
        health = await read_list_health(connection, campaign_id)
        if health is not None and health.looks_old:
            await self._pause(connection, campaign_id, health.in_words(), ReasonCode.LIST_LOOKS_OLD)

    async def _pause(self, connection: Connection, campaign_id: int, words: str, code: ReasonCode) -> None:
        self._cache.stop(campaign_id)
        if await apply_if_allowed(connection, campaign_id, CampaignEvent.PAUSE, words, code) is not None:
            log.warning("campaign_paused", **self._cache.log_fields(campaign_id), reason=words)
        self._cache.end(campaign_id)


def _waiting(canary: StoredCanary) -> str:
    counts = canary.counts
    if canary.verdict is CanaryVerdict.SENDING:
        return f"canary: sending to the first {counts.recipients:,}"
    until = f"{canary.wait_s / 60:g} min after the last one"
    if canary.sent_at is not None:
        until = (canary.sent_at + timedelta(seconds=canary.wait_s)).isoformat(timespec="minutes")
    return f"canary: {in_words(counts)}; its statuses are awaited until {until}"
