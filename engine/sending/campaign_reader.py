"""The reader of running campaigns: it updates the cache a few times a second, and logs changes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from time import time_ns
from typing import NamedTuple

import asyncpg

from drumbeat.engine.clock import SECOND_NS, monotonic_ns, wall_offset_ns
from drumbeat.engine.core.clock_skew import ClockSkew
from drumbeat.engine.core.limits.guard import PASS, Defer, check_hours
from drumbeat.engine.core.limits.quota import in_words
from drumbeat.engine.core.order import Priority
from drumbeat.engine.core.states import WAITS, CampaignEvent, CampaignState, ReasonCode
from drumbeat.engine.core.template.campaign_template import frozen_templates, make_payloads
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.campaign_guards import stored_guards
from drumbeat.engine.sending.containment import contained, reason_of
from drumbeat.engine.sending.header_files import HeaderFiles
from drumbeat.engine.sending.messages import RunningCampaign
from drumbeat.engine.sending.quotas import Quotas
from drumbeat.engine.sending.recipient_hours import RecipientHours, database_now
from drumbeat.engine.store.campaign_states import apply_if_allowed, set_reason
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.header_files import uploads_of
from drumbeat.engine.store.queries import queries

BLOCKED_PREFIX = "waiting: "  # beginning of the stored reason while a running campaign may not send

# The log events for a campaign that a person, or another process, stopped, by its state.
STOPPED_EVENTS = {
    CampaignState.PAUSED: "campaign_paused",
    CampaignState.CANCELLED: "campaign_cancelled",
}

log = get_logger(__name__)


class Block(NamedTuple):
    """The reason why nothing may be claimed at this moment: in words, and as the code that is stored with
    them.

    `stops` False: the campaign continues. Its numbers claim only people whom they may write to.
    """

    reason: str
    code: ReasonCode
    stops: bool = True


class CampaignReader:
    """A reader of every running campaign, or only of that with `campaign_id` and messages to one person."""

    def __init__(
        self,
        cache: CampaignCache,
        product: str,
        campaign_id: int | None,
        find_block: Callable[[], Block | None] = lambda: None,
        clock_skew: ClockSkew | None = None,
        phone_number_ids: Sequence[str] = (),
        quotas: Quotas | None = None,
        find_away: Callable[[], Block | None] = lambda: None,
    ) -> None:
        """Set up the reader. `find_block` returns why nothing at all may be claimed at this moment; None if
        it may.

        `phone_number_ids` are the numbers of this process. `find_away` returns that the service is away,
        which stops nobody: one message at a time probes it.
        """
        self._cache = cache
        self._product = product
        self._only = campaign_id
        self._phone_number_ids = list(phone_number_ids)
        self._find_block = find_block
        self._find_away = find_away
        self._clock_skew = clock_skew or ClockSkew()
        self._quotas = quotas or Quotas()

    async def refresh(self, connection: Connection) -> None:
        before_ns = time_ns()
        rows = await connection.fetch(
            queries("campaign_cache")["running"], self._only, self._phone_number_ids
        )
        if rows:
            self._compare_clocks(before_ns, rows[0]["database_now"])
        self._clock_skew.stamp_offset_ns = wall_offset_ns() + self._clock_skew.skew_ns
        block = self._find_block()
        for row in rows:
            with contained(self._cache, row["campaign_id"]):
                await self._refresh_one(connection, row, block)
        await self._pause_failed(connection, {row["campaign_id"]: row["name"] for row in rows})
        for campaign_id in set(self._cache.running) - {row["campaign_id"] for row in rows}:
            await self._end(connection, campaign_id)
        self._cache.remove_ended()

    def _compare_clocks(self, before_ns: int, database_now: datetime) -> None:
        database_ns = int(database_now.timestamp() * 1e6) * 1_000  # the database gives microseconds
        if self._clock_skew.compare(before_ns, database_ns, time_ns()):
            log.warning("clock_skew_changed", skew_s=round(self._clock_skew.skew_ns / SECOND_NS, 1))

    async def _refresh_one(self, connection: Connection, row: asyncpg.Record, block: Block | None) -> None:
        campaign = self._cache.get(row["campaign_id"])
        if campaign is None or campaign.failed:
            campaign = _running_campaign(row, self._product, self._clock_skew)
        # read before the start: once started, the campaign may send at once
        file_block = await _file_block(connection, campaign)
        _follow_edits(campaign, row)
        if started := self._cache.start(campaign):
            campaign.blocked_reason = _stored_blocked_reason(row)
        block = block or _closed_hours(campaign, row["database_now"]) or file_block
        block = block or await self._used_up(connection, campaign) or self._find_away()
        await self._block(connection, campaign, block, started=started)

    async def _used_up(self, connection: Connection, campaign: RunningCampaign) -> Block | None:
        """Return the block if all numbers of a campaign used up their messaging limits;
        None if one may send.
        """
        used_up = self._quotas.used_up(campaign.phone_number_ids)
        if not used_up:
            return None
        numbers = list(campaign.phone_number_ids)
        if not await connection.fetchval(queries("quota")["waits"], campaign.campaign_id, numbers):
            return None
        return Block(in_words(used_up), ReasonCode.MESSAGING_LIMIT, stops=False)

    async def _end(self, connection: Connection, campaign_id: int) -> None:
        """End the campaign here, and log a stop that came from outside.

        A process that finishes or expires a campaign logs that itself.
        """
        self._cache.end(campaign_id)
        row = await connection.fetchrow(queries("campaign_cache")["state"], campaign_id)
        if row is not None and row["state"] in STOPPED_EVENTS:
            event = STOPPED_EVENTS[row["state"]]
            log.info(event, **self._cache.log_fields(campaign_id), reason=row["reason"])

    async def _pause_failed(self, connection: Connection, names: Mapping[int, str]) -> None:
        """Pause the campaigns that failed here or elsewhere in this process, with the reason."""
        for campaign_id, error in list(self._cache.failures.items()):
            reason, fields = reason_of(error), self._cache.log_fields(campaign_id)
            if name := names.get(campaign_id):
                fields["campaign"] = name
            event, code = CampaignEvent.PAUSE, ReasonCode.UNREADABLE
            if await apply_if_allowed(connection, campaign_id, event, reason, code) is not None:
                log.warning("campaign_paused", **fields, reason=reason)
            self._cache.end(campaign_id)
            del self._cache.failures[campaign_id]

    async def _block(
        self, connection: Connection, campaign: RunningCampaign, block: Block | None, *, started: bool
    ) -> None:
        """Let the campaign send unless it is blocked. Store and log a change of that.

        A blocked campaign stops at once; its reason is stored as soon as the database accepts it.
        """
        campaign.sending = (block is None or not block.stops) and not campaign.stopped
        reason, code = (f"{BLOCKED_PREFIX}{block.reason}", block.code) if block else ("", None)
        changed = reason != campaign.blocked_reason
        if changed:
            try:
                await set_reason(connection, campaign.campaign_id, CampaignState.RUNNING, reason, code)
            # the reason itself may be what cannot be stored, which must not end a process that starts
            except asyncpg.DiskFullError:
                return
            campaign.blocked_reason = reason
        if changed or started:
            sends = "campaign_started" if started else "campaign_unblocked"
            event = "campaign_blocked" if reason else sends
            log.info(event, **self._cache.log_fields(campaign.campaign_id), reason=reason)


def _follow_edits(campaign: RunningCampaign, row: asyncpg.Record) -> None:
    """Take over the options that a person may change while the campaign runs."""
    left_s, guards = row["expires_in_s"], stored_guards(dict(row))
    campaign.expires_ns = None if left_s is None else monotonic_ns() + int(left_s * SECOND_NS)
    campaign.hours, campaign.time_zone = guards.hours, guards.time_zone
    campaign.priority, campaign.share_percent = Priority[row["priority"].upper()], row["share_percent"]
    campaign.is_watched = row["is_watched"]


def _closed_hours(campaign: RunningCampaign, now: datetime) -> Block | None:
    verdict = PASS if campaign.hours.is_always else check_hours(now, campaign.hours, [campaign.time_zone])
    if isinstance(verdict, Defer):
        return Block(verdict.reason, ReasonCode.WINDOW_CLOSED)
    closed = campaign.recipient_hours.all_closed()
    return None if closed is None else Block(closed.reason, ReasonCode.RECIPIENT_HOURS)


async def _file_block(connection: Connection, campaign: RunningCampaign) -> Block | None:
    if (files := campaign.files) is None:
        return None
    if (now_ns := monotonic_ns()) >= files.read_again_ns:
        files.read(await uploads_of(connection, campaign.campaign_id, campaign.phone_number_ids), now_ns)
    reason = files.blocked_reason(now_ns)
    return Block(reason, ReasonCode.HEADER_FILE) if reason else None


def _running_campaign(row: asyncpg.Record, product: str, clock_skew: ClockSkew) -> RunningCampaign:
    templates = [template.compiled(product) for template in frozen_templates(row["template"])]
    guards = stored_guards(dict(row))
    numbers = tuple(row["phone_number_ids"])
    return RunningCampaign(
        row["campaign_id"],
        row["name"],
        make_payloads(templates),
        len(templates[0].placeholders),
        numbers,
        guards.hours,
        guards.time_zone,
        RecipientHours(
            guards.recipient_hours, row["recipient_zones"] or (), partial(database_now, clock_skew)
        ),
        guards.cap,
        is_retry=row["is_retry"],
        files=HeaderFiles(templates, numbers) if templates[0].has_variable_media else None,
    )


def _stored_blocked_reason(row: asyncpg.Record) -> str:
    """Return the stored reason if it says that the campaign is blocked. No other one may be replaced."""
    return row["reason"] if row["reason_code"] in WAITS else ""
