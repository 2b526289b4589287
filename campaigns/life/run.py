"""Running one campaign in this process: when it may start, and what its end is worth."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

import structlog

from campaigns.command_text import command
from campaigns.life.control import Campaign, close, find_campaign, is_future, start
from campaigns.results.status import FINAL_STATES, CampaignStatus, campaign_status
from engine.app import run_numbers
from engine.core.states import REASONS, CampaignState, RecipientState
from engine.errors import AuthenticationError, DrumbeatError, Incomplete, TryLater, Unreachable
from engine.process.disk_space import Disk
from engine.process.settings import ServiceSettings
from engine.store.database import Pool
from engine.system_error import system_error_text

WAIT_PERIOD_S = 1.0
CONNECT_S_MAX = 10.0
CUT_SHORT = "the database did not answer while the run ended, so that not all outcomes are stored"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """What a run came to. `shortfall`: what it lacks, in words; empty where it was `stopped`, and goes on."""

    status: CampaignStatus
    stopped: bool
    shortfall: str

    def require_complete(self) -> None:
        """Raise what `paused` makes of a pause, or Incomplete; nothing where a person stopped the run."""
        if self.stopped:
            return
        if self.status.state is CampaignState.PAUSED:
            raise paused(self.status)
        if self.shortfall:
            raise Incomplete(self.shortfall)


async def run_campaign(
    pool: Pool,
    service: ServiceSettings,
    name: str,
    *,
    stop: asyncio.Event,
    wait: bool = False,
    disk: Disk | None = None,
    max_failed: str | None = None,
) -> RunEnd:
    """Send a campaign until it is finished, paused or cancelled, or until `stop` is set.

    Starts a draft or a due campaign; never lifts a pause, and raises what `paused` makes of one. Raises
    TryLater for a start that lies ahead and for a number that is sending elsewhere (with `wait` it waits for
    both), Unreachable when the service does not answer at all. `max_failed`: instead of the campaign's own.
    """
    told = ""
    while not stop.is_set():
        campaign = await find_campaign(pool, name)
        if campaign.state in FINAL_STATES:
            await _close(pool, campaign)
            break
        try:
            await _make_running(pool, campaign)
            await reach(service)
            if not await _send(pool, service, campaign, stop, disk):
                raise Unreachable(CUT_SHORT, remedy="run it again: statuses settle what is in doubt")
            break
        except TryLater as error:
            if not wait or campaign.state is CampaignState.PAUSED:
                raise
            if str(error) != told:
                told = str(error)
                log.info("waiting", reason=told)
            await _wait(stop)
    campaign = await find_campaign(pool, name)
    status = await campaign_status(pool, campaign.campaign_id)
    stopped = stop.is_set()
    lacks = "" if stopped else shortfall(status, max_failed or campaign.max_failed)
    return RunEnd(status, stopped, lacks)


def shortfall(status: CampaignStatus, max_failed: str | None) -> str:
    """What an end lacks, in words or empty: it came early, more failed than allowed, somebody is in doubt."""
    failed, unknown = status.counts[RecipientState.FAILED], status.counts[RecipientState.UNKNOWN]
    lacks = []
    if status.state in (CampaignState.CANCELLED, CampaignState.EXPIRED):
        skipped, why = status.counts[RecipientState.SKIPPED], f" ({status.reason})" if status.reason else ""
        lacks.append(f"{status.state}{why}: {skipped:,} of {status.recipients:,} skipped")
    if status.failed_above(max_failed):
        share = f"{100 * failed / status.recipients:.1f} %"
        lacks.append(
            f"{failed:,} of {status.recipients:,} failed ({share}), more than --max-failed {max_failed}"
        )
    if unknown:
        lacks.append(f"{unknown:,} in doubt: see `{command('campaign', 'settle', status.name)}`")
    return "; ".join(lacks)


def paused(status: CampaignStatus | Campaign) -> DrumbeatError:
    """The error that a pause ends a run with."""
    message = f'the campaign "{status.name}" is paused: {status.reason}'
    resume = command("campaign", "resume", status.name)
    error = REASONS[status.reason_code].error if status.reason_code else TryLater
    token = "check the access token, then " if error is AuthenticationError else ""
    return error(message, remedy=f"{token}`{resume}`{'' if token else ' lifts it'}")


async def reach(service: ServiceSettings) -> None:
    """Open one connection to the service, or to the proxy on the way; Unreachable where nobody answers."""
    address = urlsplit(service.proxy or service.base_url)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        async with asyncio.timeout(CONNECT_S_MAX):
            _, writer = await asyncio.open_connection(address.hostname, port)
    except OSError as error:
        problem = system_error_text(error)
        if service.proxy is None:
            raise Unreachable(
                f"the service does not answer: {problem}",
                where=service.base_url,
                remedy="check DRUMBEAT_BASE_URL",
            ) from error
        raise Unreachable(
            f"the proxy on the way to the service does not answer: {problem}",
            where=f"{address.hostname}:{port}",
            remedy="check DRUMBEAT_PROXY_URL",
        ) from error
    writer.close()


async def _close(pool: Pool, campaign: Campaign) -> None:
    """Whoever cancelled or expired it may have been killed before all of its recipients were skipped."""
    if campaign.state is not CampaignState.FINISHED:
        async with pool.acquire() as connection:
            await close(connection, campaign.campaign_id, campaign.state)


async def _make_running(pool: Pool, campaign: Campaign) -> None:
    if campaign.state is CampaignState.RUNNING:
        return
    if campaign.state is CampaignState.PAUSED:
        raise paused(campaign)
    async with pool.acquire() as connection:
        if campaign.start_at is not None and await is_future(connection, campaign):
            raise TryLater(
                f'the campaign "{campaign.name}" starts at {campaign.start_at.isoformat(timespec="seconds")}',
                remedy="run it then, or with --wait",
            )
        if campaign.state is CampaignState.DRAFT:
            await start(connection, campaign.name)


async def _send(
    pool: Pool, service: ServiceSettings, campaign: Campaign, stop: asyncio.Event, disk: Disk | None
) -> bool:
    end = await run_numbers(
        pool,
        service,
        phone_number_ids=campaign.phone_number_ids,
        campaign_id=campaign.campaign_id,
        stop=stop,
        disk=disk,
    )
    return end.drained


async def _wait(stop: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop.wait(), WAIT_PERIOD_S)
    except TimeoutError:
        return
