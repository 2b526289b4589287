"""The run of one campaign in this process: whether it may start, and whether it ended completely."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeAlias
from urllib.parse import urlsplit

from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.life.control import is_future, skip_remaining, start
from drumbeat.campaigns.life.doubt import apply_policy, outlook
from drumbeat.campaigns.life.settling import until_settled
from drumbeat.campaigns.life.template_check import TemplateCheck, TemplateStopped
from drumbeat.campaigns.life.time_limit import time_limit
from drumbeat.campaigns.results.status import FINAL_STATES, PRUNED_IN_DOUBT, CampaignStatus, campaign_status
from drumbeat.engine.api.trust import CA_REMEDY, is_distrusted, trust_of
from drumbeat.engine.app import run_numbers
from drumbeat.engine.core.states import REASONS, CampaignState, ReasonCode, RecipientState
from drumbeat.engine.errors import AuthenticationError, DrumbeatError, Incomplete, TryLater, Unreachable
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.settings import MetricsAddress, ServiceSettings
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.in_doubt import summarise_in_doubt
from drumbeat.engine.store.leases import NumberHeld
from drumbeat.engine.system_error import system_error_text

WAIT_PERIOD_S = 1.0
CONNECT_S_MAX = 10.0
CUT_SHORT = "the database did not answer while the run ended, so some results are not stored"

Begin: TypeAlias = Callable[[Campaign, Connection], Awaitable[None]]

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run. `shortfall` says in words what is missing. It is empty if a signal `stopped` the
    run, or its time limit `until`.
    """

    status: CampaignStatus
    stopped: bool
    shortfall: str
    until: datetime | None = None

    @property
    def problem(self) -> DrumbeatError | None:
        """Return the error for a pause, TryLater for a time limit, or Incomplete for a shortfall; None if a
        signal stopped the run.
        """
        if self.until is not None:
            return TryLater(
                f"the run ended at {self.until.isoformat()}, with {self.status.waiting:,} recipients left",
                remedy="run it again to continue",
            )
        if self.stopped:
            return None
        if self.status.state is CampaignState.PAUSED:
            return paused(self.status)
        return Incomplete(self.shortfall) if self.shortfall else None

    def require_complete(self) -> None:
        """Raise the `problem`, if there is one."""
        if self.problem is not None:
            raise self.problem


async def run_campaign(
    pool: Pool,
    service: ServiceSettings,
    name: str,
    *,
    stop: asyncio.Event,
    wait: bool = False,
    disk: Disk | None = None,
    max_failed: str | None = None,
    metrics: MetricsAddress | None = None,
    settle_timeout_s: float | None = None,
    compare_templates: bool = True,
    until: datetime | None = None,
) -> RunResult:
    """Send a campaign until it is finished, paused or cancelled, until `stop` is set, or until a time, which
    then sets `stop`.

    It starts a draft or a due campaign. It never lifts a pause, and raises the error that `paused` makes of a
    pause. Raise TryLater if the start is in the future or another process has a number. With `wait`, it waits
    for both, and starts a draft for the process that has the number: a worker then sends it. Raise
    Unreachable if the service does not answer, TryLater if `until` has passed. `max_failed` overrides the
    campaign's own. `metrics` says where metrics are served while it sends. `compare_templates` False means
    that they were read just now. `settle_timeout_s` is how long to wait for statuses afterwards, so that
    `max_failed` is judged by them; None means not at all.
    """
    # A run by external id means this campaign, also if another one gets that name meanwhile.
    name = (await find_campaign(pool, name)).name
    async with time_limit(pool, until, stop) as limit:
        check = TemplateCheck(pool, service) if compare_templates else None
        await _send_or_wait(
            pool,
            service,
            name,
            stop,
            wait=wait,
            disk=disk,
            metrics=metrics,
            check=check,
            settle_timeout_s=settle_timeout_s,
        )
    campaign = await find_campaign(pool, name)
    status = await campaign_status(pool, campaign.campaign_id)
    cut_short = limit.passed and status.state not in FINAL_STATES
    stopped = stop.is_set() and (cut_short or not limit.passed)
    missing = ""
    if not stopped:
        next_step = ""
        if status.in_doubt:
            async with pool.acquire() as connection:
                next_step = outlook(
                    campaign,
                    await summarise_in_doubt(connection, campaign.campaign_id, silence_s=service.silence_s),
                )
        missing = shortfall(status, max_failed or campaign.max_failed, next_step)
    return RunResult(status, stopped, missing, until if cut_short else None)


async def _send_or_wait(
    pool: Pool,
    service: ServiceSettings,
    name: str,
    stop: asyncio.Event,
    *,
    wait: bool,
    disk: Disk | None,
    metrics: MetricsAddress | None,
    check: TemplateCheck | None,
    settle_timeout_s: float | None,
) -> None:
    logged_reason = ""
    begin = partial(_begin, check)
    while not stop.is_set():
        campaign = await find_campaign(pool, name)
        if campaign.state in FINAL_STATES:
            if await _has_ended(pool, campaign, stop, settle_timeout_s, service.silence_s):
                break
            continue
        try:
            await _send(pool, service, campaign, stop, disk, metrics, begin)
            if await _is_settled(pool, campaign, stop, settle_timeout_s, service.silence_s):
                break
        except TemplateStopped:
            raise  # to see that it is sent again, a run that waits would spend management calls
        except TryLater as error:
            if not wait or campaign.state is CampaignState.PAUSED:
                raise
            if isinstance(error, NumberHeld):
                await _start_for_owner(pool, campaign, begin)
            if str(error) != logged_reason:
                logged_reason = str(error)
                log.info("run_postponed", reason=logged_reason)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), WAIT_PERIOD_S)


async def _has_ended(
    pool: Pool, campaign: Campaign, stop: asyncio.Event, timeout_s: float | None, silence_s: float
) -> bool:
    """Do what is left to do for a campaign that is over. Return False if it sends again for that."""
    await _close(pool, campaign)
    if await apply_policy(pool, campaign.campaign_id, silence_s):
        return False
    return await _is_settled(pool, campaign, stop, timeout_s, silence_s)


async def _is_settled(
    pool: Pool, campaign: Campaign, stop: asyncio.Event, timeout_s: float | None, silence_s: float
) -> bool:
    """Wait for statuses; False if the campaign sends again meanwhile, to recipients who were in doubt."""
    if timeout_s is None:
        return True
    status = await until_settled(
        pool, campaign.campaign_id, timeout_s=timeout_s, stop=stop, silence_s=silence_s
    )
    return status.state is not CampaignState.RUNNING


async def _send(
    pool: Pool,
    service: ServiceSettings,
    campaign: Campaign,
    stop: asyncio.Event,
    disk: Disk | None,
    metrics: MetricsAddress | None,
    begin: Begin,
) -> None:
    await _require_startable(pool, campaign)
    await require_reachable(service)
    end = await run_numbers(
        pool,
        service,
        phone_number_ids=campaign.phone_number_ids,
        campaign_id=campaign.campaign_id,
        stop=stop,
        disk=disk,
        metrics=metrics,
        on_owned=partial(begin, campaign),
    )
    if not end.drained:
        raise Unreachable(CUT_SHORT, remedy="run it again; statuses settle the recipients in doubt")


def shortfall(status: CampaignStatus, max_failed: str | None, outlook: str = "") -> str:
    """Return in words what is missing: the campaign ended early, too many failed, or some are in doubt.

    `outlook` says what happens to those in doubt next.
    """
    failed = status.counts[RecipientState.FAILED]
    parts = []
    if status.state in (CampaignState.CANCELLED, CampaignState.EXPIRED):
        skipped, why = status.counts[RecipientState.SKIPPED], f" ({status.reason})" if status.reason else ""
        parts.append(f"{status.state}{why}: {skipped:,} of {status.recipients:,} skipped")
    if status.failed_above(max_failed):
        share = f"{100 * failed / status.recipients:.1f} %"
        parts.append(
            f"{failed:,} of {status.recipients:,} failed ({share}), more than the limit of {max_failed}"
        )
    if status.in_doubt:
        settle = command_text("campaign", "settle", status.name)
        parts.append(f"{status.in_doubt:,} in doubt: see `{settle}`" + (f" ({outlook})" if outlook else ""))
    if status.pruned_unknown:
        parts.append(f"{status.pruned_unknown:,} {PRUNED_IN_DOUBT}")
    return "; ".join(parts)


def paused(status: CampaignStatus | Campaign) -> DrumbeatError:
    """Return the error with which a run of a paused campaign ends."""
    message = f'the campaign "{status.name}" is paused: {status.reason}'
    resume = command_text("campaign", "resume", status.name)
    error = REASONS[status.reason_code].error if status.reason_code else TryLater
    first = "lift the pause with "
    if error is AuthenticationError:
        first = "check the access token, then "
    elif status.reason_code is ReasonCode.APPROVAL_NEEDED:
        return error(message, remedy=f"approve it with `{command_text('campaign', 'approve', status.name)}`")
    elif status.reason_code is ReasonCode.NUMBERS_STOPPED:
        first = "let a number send again with `drumbeat numbers resume PNID`, then "
    return error(message, remedy=f"{first}`{resume}`")


async def require_reachable(service: ServiceSettings) -> None:
    """Open a connection to the service or to the proxy. Raise Unreachable if it does not answer, or if its
    certificate is not trusted; ConfigurationError for a wrong file of certificates.
    """
    address = urlsplit(service.proxy or service.base_url)
    is_tls = address.scheme == "https"
    port = address.port or (443 if is_tls else 80)
    tls = (trust_of(service.ca_file) or True) if is_tls else None
    try:
        async with asyncio.timeout(CONNECT_S_MAX):
            _, writer = await asyncio.open_connection(address.hostname, port, ssl=tls)
    except OSError as error:
        problem = system_error_text(error)
        who, where, setting = "the service", service.base_url, "DRUMBEAT_BASE_URL"
        if service.proxy is not None:
            who, where, setting = "the proxy", f"{address.hostname}:{port}", "DRUMBEAT_PROXY_URL"
        remedy = CA_REMEDY if is_distrusted(error) else f"check {setting}"
        raise Unreachable(f"{who} does not answer: {problem}", where=where, remedy=remedy) from error
    writer.close()


async def _close(pool: Pool, campaign: Campaign) -> None:
    """Skip remaining recipients: the process that cancelled or expired the campaign may have been killed."""
    if campaign.state is not CampaignState.FINISHED:
        async with pool.acquire() as connection:
            await skip_remaining(connection, campaign.campaign_id, campaign.state)


async def _require_startable(pool: Pool, campaign: Campaign) -> None:
    if campaign.state is CampaignState.RUNNING:
        return
    if campaign.state is CampaignState.PAUSED:
        raise paused(campaign)
    async with pool.acquire() as connection:
        if campaign.start_at is not None and await is_future(connection, campaign):
            raise TryLater(
                f'the campaign "{campaign.name}" starts at {campaign.start_at.isoformat(timespec="seconds")}',
                remedy="run it then, or wait with --wait",
            )


async def _begin(check: TemplateCheck | None, campaign: Campaign, connection: Connection) -> None:
    """Check the templates, and start a draft.

    Only when a process owns the numbers: a run that is refused leaves the campaign as it was. Nor does a run
    that is repeated each minute spend management calls while another process sends.
    """
    if check is not None:
        await check(campaign)
        for note in check.notes:
            log.warning("templates_compared", campaign=campaign.name, note=note)
    if campaign.state is CampaignState.DRAFT:
        await start(connection, campaign)


async def _start_for_owner(pool: Pool, campaign: Campaign, begin: Begin) -> None:
    """Start a draft for the process that owns its numbers. A worker never gives its numbers to a run, so a
    draft that waited for them would wait for ever.
    """
    if campaign.state is CampaignState.DRAFT:
        async with pool.acquire() as connection:
            await begin(campaign, connection)
