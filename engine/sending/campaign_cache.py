"""What this process knows of the running campaigns, refreshed a few times a second: who may send now."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import asyncpg
import structlog

from engine.clock import SECOND_NS, monotonic_ns
from engine.core.guard import DailyWindow, Defer, check_window
from engine.core.message import CompiledTemplate, Media, compile_template
from engine.core.states import WAITS, CampaignEvent, CampaignState, ReasonCode
from engine.errors import ConfigurationError
from engine.sending.messages import RunningCampaign
from engine.store.campaign_states import apply_if_allowed, set_reason
from engine.store.database import Connection
from engine.store.queries import queries

# One refused recipient is a recipient; this many in a row, with none accepted between, is the campaign.
SYSTEMATIC_REJECTIONS_MAX = 20
# Campaigns kept in mind; those that ended longest ago leave first.
KNOWN_MAX = 200
UNCLOSED_PERIOD_S = 60.0  # of a look at every campaign that ended
# Where one number found no free range, no other looks for so long. Towards the end of a campaign all of them
# would ask, several times a second each: with 64 numbers for 40 ranges that was a seventh of the time of all
# statements.
NONE_FREE_NS = SECOND_NS // 5

WAITING = "waiting: "  # begins the reason of a running campaign that does not send right now

# What a log says of a campaign that was stopped from elsewhere, by its state.
STOPPED = {CampaignState.PAUSED: "campaign_paused", CampaignState.CANCELLED: "campaign_cancelled"}

log = structlog.get_logger(__name__)


class Block(NamedTuple):
    """Why nothing may be claimed at this moment: in words, and as the code that is stored with them."""

    reason: str
    code: ReasonCode


class CampaignCache:
    """The running campaigns, or only the one with `campaign_id`.

    Read by all flows, refreshed by the worker. A campaign that stops running stays known for a while: what is
    claimed of it is still to be sent.
    """

    def __init__(
        self, product: str, campaign_id: int | None, block: Callable[[], Block | None] = lambda: None
    ) -> None:
        """`block` says why nothing at all may be claimed at this moment; None: it may."""
        self._product = product
        self._only = campaign_id
        self._block = block
        self._known: dict[int, RunningCampaign] = {}
        self._running: set[int] = set()
        self.systematic_rejections: dict[int, int] = {}  # in a row, by campaign
        self.to_close: dict[int, str] = {}  # campaigns that ended early, and why: their ranges are open
        self._look_for_unclosed_s = 0.0

    def __getitem__(self, campaign_id: int) -> RunningCampaign:
        return self._known[campaign_id]

    def told(self, campaign_id: int) -> dict[str, Any]:
        """The fields by which a log names a campaign: digits of a name may be masked, as a number's are."""
        campaign = self._known.get(campaign_id)
        return {"campaign": campaign.name if campaign else "", "campaign_id": campaign_id}

    @property
    def running(self) -> list[int]:
        return sorted(self._running)

    def sends(self, campaign_id: int) -> bool:
        """Whether recipients of the campaign may be claimed at this moment."""
        return campaign_id in self._running and self._known[campaign_id].sending

    def sending_with(self, phone_number_id: str) -> list[int]:
        """The campaigns that may send through a number at this moment."""
        return [
            campaign_id
            for campaign_id in self.running
            if self.sends(campaign_id) and phone_number_id in self._known[campaign_id].phone_number_ids
        ]

    def with_free_ranges(self, phone_number_id: str) -> list[int]:
        """As `sending_with`, but for those in which a number of this process has just found no free range."""
        now_ns = monotonic_ns()
        return [
            campaign_id
            for campaign_id in self.sending_with(phone_number_id)
            if now_ns >= self._known[campaign_id].none_free_until_ns
        ]

    def none_free(self, campaign_id: int) -> None:
        """A number looked for a free range of the campaign and got none. If the number itself is lost to us,
        the others miss one look.
        """
        if campaign := self._known.get(campaign_id):
            campaign.none_free_until_ns = monotonic_ns() + NONE_FREE_NS

    def some_free(self, campaign_id: int) -> None:
        """A range of the campaign was given back: numbers with nothing to do look again."""
        if campaign := self._known.get(campaign_id):
            campaign.none_free_until_ns = 0

    def stop(self, campaign_id: int) -> None:
        """Claim nothing more from a campaign, at once: its state in the database follows."""
        if campaign := self._known.get(campaign_id):
            campaign.sending = False
            campaign.stopped = True

    def paused(self, campaign_id: int) -> None:
        """It is paused in the database: if the next look finds it running, a person has resumed it."""
        self._runs_no_more(campaign_id)

    async def refresh(self, connection: Connection) -> None:
        """Read the states anew; starts what is due and expires what is overdue."""
        await self.move_due(connection)
        await self.look(connection)

    async def move_due(self, connection: Connection) -> None:
        """Start what is due and expire what is overdue."""
        sql = queries("campaign_cache")
        for row in await connection.fetch(sql["startable"], self._only):
            await apply_if_allowed(connection, row["campaign_id"], CampaignEvent.START, "")
        for row in await connection.fetch(sql["overdue"], self._only):
            await self._expire(connection, row["campaign_id"], row["name"])
        await self._close_interrupted(connection)

    async def look(self, connection: Connection) -> None:
        """Read the states anew, and tell what has changed."""
        rows = await connection.fetch(queries("campaign_cache")["running"], self._only)
        block = self._block()
        for row in rows:
            await self._look_at(connection, row, block)
        for campaign_id in self._running - {row["campaign_id"] for row in rows}:
            await self._leave(connection, campaign_id)
        for campaign_id in self.systematic_rejections.keys() - self._running:
            del self.systematic_rejections[campaign_id]
        self._forget_ended()

    async def _look_at(self, connection: Connection, row: asyncpg.Record, block: Block | None) -> None:
        campaign_id = row["campaign_id"]
        campaign = self._known.get(campaign_id) or await self._read(connection, row)
        if campaign is None:
            return
        self._known[campaign_id] = campaign
        if row["expires_in_s"] is not None:
            campaign.expires_ns = monotonic_ns() + int(row["expires_in_s"] * SECOND_NS)
        begins = campaign_id not in self._running  # new, or resumed by a person
        if begins:
            self._running.add(campaign_id)
            campaign.stopped = False
            campaign.waiting = _waiting(row)
            self.systematic_rejections.pop(campaign_id, None)
        await self._say_whether_it_waits(
            connection, campaign, block or _closed_window(campaign), begins=begins
        )

    async def _leave(self, connection: Connection, campaign_id: int) -> None:
        """It runs no more. Who finishes or expires it tells so; what a person ordered is told here."""
        self._runs_no_more(campaign_id)
        row = await connection.fetchrow(queries("campaign_cache")["state"], campaign_id)
        if row is not None and row["state"] in STOPPED:
            log.info(STOPPED[row["state"]], **self.told(campaign_id), reason=row["reason"])

    def _runs_no_more(self, campaign_id: int) -> None:
        self._running.discard(campaign_id)
        if campaign := self._known.pop(campaign_id, None):
            self._known[campaign_id] = campaign  # behind those that ended before

    def _forget_ended(self) -> None:
        for campaign_id in list(self._known)[: max(0, len(self._known) - KNOWN_MAX)]:
            if campaign_id not in self._running:
                del self._known[campaign_id]

    async def _expire(self, connection: Connection, campaign_id: int, name: str) -> None:
        event, code = CampaignEvent.EXPIRE, ReasonCode.EXPIRED
        if await apply_if_allowed(connection, campaign_id, event, "its time is over", code) is not None:
            log.warning("campaign_expired", campaign=name, campaign_id=campaign_id)
            self.to_close[campaign_id] = "expired"

    async def _close_interrupted(self, connection: Connection) -> None:
        """Finish the end of campaigns whose cancel or expiry was killed half-way; looked for now and then."""
        if time.monotonic() < self._look_for_unclosed_s:
            return
        for row in await connection.fetch(queries("campaign_cache")["unclosed"], self._only):
            self.to_close[row["campaign_id"]] = row["state"]
        self._look_for_unclosed_s = time.monotonic() + UNCLOSED_PERIOD_S

    async def _read(self, connection: Connection, row: asyncpg.Record) -> RunningCampaign | None:
        """A campaign that cannot be read is paused: it must not stop the others."""
        try:
            return _running_campaign(row, self._product)
        except (ConfigurationError, ValueError, KeyError, TypeError) as error:
            reason = str(error) if isinstance(error, ConfigurationError) else f"it cannot be read: {error!r}"
            code = ReasonCode.UNREADABLE
            await apply_if_allowed(connection, row["campaign_id"], CampaignEvent.PAUSE, reason, code)
            told = {"campaign": row["name"], "campaign_id": row["campaign_id"]}
            log.warning("campaign_paused", **told, reason=reason)
            return None

    async def _say_whether_it_waits(
        self, connection: Connection, campaign: RunningCampaign, block: Block | None, *, begins: bool
    ) -> None:
        """It waits at once; the reason is stored as soon as the database takes it."""
        campaign.sending = block is None and not campaign.stopped
        reason, code = (f"{WAITING}{block.reason}", block.code) if block else ("", None)
        is_news = reason != campaign.waiting
        if is_news:
            await set_reason(connection, campaign.campaign_id, CampaignState.RUNNING, reason, code)
            campaign.waiting = reason
        if is_news or begins:
            sends = "campaign_runs" if begins else "campaign_unblocked"
            event = "campaign_waits" if reason else sends
            log.info(event, **self.told(campaign.campaign_id), reason=reason)


def _closed_window(campaign: RunningCampaign) -> Block | None:
    if campaign.window is None:
        return None
    verdict = check_window(datetime.now(UTC), campaign.window, campaign.time_zone)
    return Block(verdict.reason, ReasonCode.WINDOW_CLOSED) if isinstance(verdict, Defer) else None


def _running_campaign(row: asyncpg.Record, product: str) -> RunningCampaign:
    return RunningCampaign(
        row["campaign_id"],
        row["name"],
        _compiled(row["template"], product),
        tuple(row["phone_number_ids"]),
        _window(row),
        ZoneInfo(row["time_zone"]),
        waiting=_waiting(row),
    )


def _waiting(row: asyncpg.Record) -> str:
    """What people are told of a running campaign that does not send right now."""
    return row["reason"] if row["reason_code"] in WAITS else ""


def _compiled(template: dict[str, Any], product: str) -> CompiledTemplate:
    """The frozen template as the service listed it, with the key under which it was chosen, and its media."""
    definition = {**template["definition"], "name": template["name"], "language": template["language"]}
    media = template.get("header_media")
    return compile_template(definition, product, header_media=Media(**media) if media else None)


def _window(row: asyncpg.Record) -> DailyWindow | None:
    if row["window_opens"] is None:
        return None
    return DailyWindow.between(row["window_opens"], row["window_closes"])
