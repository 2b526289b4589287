"""`drumbeat campaign run`: send one campaign in this process. A second run continues it."""

from contextlib import suppress
from typing import Annotated

import typer

from drumbeat.campaigns.account.tier_warnings import tier_warnings
from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.cli.campaign_options import MaxFailed
from drumbeat.campaigns.cli.options import CampaignName, DryRun, Json, MetricsHost, Quiet
from drumbeat.campaigns.cli.printing import error_part, note, print_json
from drumbeat.campaigns.cli.run_progress import view_for, watched
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.status_text import quota_warning, status_lines
from drumbeat.campaigns.cli.task_runner import with_settings
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.duration import duration
from drumbeat.campaigns.life.doubt import RESEND_SILENT
from drumbeat.campaigns.life.run import RunResult, run_campaign
from drumbeat.campaigns.options.schedule import check_max_failed, read_moment
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.preview.days import days_needed
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status
from drumbeat.engine.app import POOL_CONNECTIONS
from drumbeat.engine.core.limits.quota import QuotaScope
from drumbeat.engine.notifications.notifier import notifying
from drumbeat.engine.process.settings import MetricsAddress, Settings
from drumbeat.engine.process.telemetry import quieten
from drumbeat.engine.store.database import Pool

SETTLE_TIMEOUT_S = 600.0  # most statuses come within a minute; a phone that is off may take days

app = typer.Typer(add_completion=False)


@app.command()
def run(
    name: CampaignName,
    json: Json = False,
    quiet: Quiet = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the start time, and until another sender ends.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(
            help="Time to stop cleanly: ISO 8601 with an offset. Exit with 75 if recipients are left.",
            metavar="TIME",
        ),
    ] = None,
    dry_run: DryRun = False,
    max_failed: MaxFailed = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(help="Port of /metrics, /livez and /readyz. Default: none.", min=0, max=65535),
    ] = None,
    metrics_host: MetricsHost = None,
    wait_settled: Annotated[
        bool,
        typer.Option("--until-settled", help="Then wait for the statuses. --max-failed counts with them."),
    ] = False,
    settle_timeout: Annotated[
        float | None,
        typer.Option(
            help="Longest time that --until-settled waits. Default: 600, and DRUMBEAT_SILENCE_S more for a"
            " campaign of --on-unknown resend-silent.",
            min=0,
            metavar="SECONDS",
        ),
    ] = None,
) -> None:
    """Send a campaign until nobody is left to send to. Ctrl-C stops it cleanly; run it again to continue.

    Before the campaign's --start-at, this exits with 75; with --wait it waits. Outside the hours of the
    campaign's --window, it keeps the numbers, waits, and says so.

    Statuses come after the sending. With --until-settled, it ends when every message is read, delivered or
    failed, or when --settle-timeout is over. `webhooks serve` must run, because it receives the statuses.

    A run of a finished campaign sends to those in doubt whom the campaign's --on-unknown sends to again.
    """
    if max_failed is not None:
        check_max_failed(max_failed)
    ends_at = None if until is None else read_moment("until", until)
    if quiet:
        quieten()

    async def main(pool: Pool, settings: Settings) -> int:
        campaign = await find_campaign(pool, name)
        if dry_run:
            return _print_plan(await campaign_status(pool, campaign.campaign_id), json)
        service, notifications = settings.service(), settings.notifications()
        if not quiet:
            await _warn_of_quota(pool, campaign, settings.quota_scope)
        with stop_on_signals() as stop:
            async with (
                notifying(pool, notifications, stop.event),
                watched(pool, campaign.campaign_id, view_for(json=json, quiet=quiet)),
            ):
                end = await run_campaign(
                    pool,
                    service,
                    name,
                    stop=stop.event,
                    wait=wait,
                    disk=settings.disk(),
                    max_failed=max_failed,
                    metrics=_metrics_address(settings, metrics_host, metrics_port),
                    until=ends_at,
                    settle_timeout_s=_settle_timeout_s(campaign, settings, settle_timeout)
                    if wait_settled
                    else None,
                )
            if wait_settled and not end.stopped and end.status.unsettled:
                note(f"{pluralise(end.status.unsettled, 'message has', 'messages have')} no final status yet")
            with suppress(OSError):  # `main` reports a failed stdout; the run's own end matters more
                _print(end, json)
            end.require_complete()
            return stop.exit_code

    raise typer.Exit(with_settings(main, size=POOL_CONNECTIONS, by_key=True))


def _settle_timeout_s(campaign: Campaign, settings: Settings, asked_s: float | None) -> float:
    """Return how long to wait for statuses: as asked, else so long that the campaign's policy can act."""
    if asked_s is not None:
        return asked_s
    return SETTLE_TIMEOUT_S + (settings.silence_s if campaign.on_unknown == RESEND_SILENT else 0)


async def _warn_of_quota(pool: Pool, campaign: Campaign, scope: QuotaScope) -> None:
    for warning in await tier_warnings(pool, campaign.phone_number_ids):
        note(f"warning: {warning}")
    waiting = (await campaign_status(pool, campaign.campaign_id)).waiting
    days = await days_needed(pool, campaign.phone_number_ids, waiting, scope)
    if days > 1:
        note(f"{quota_warning(days)}; the run waits for each")


def _metrics_address(settings: Settings, host: str | None, port: int | None) -> MetricsAddress | None:
    return None if port is None else settings.metrics_at(port, host)


def _print(end: RunResult, json: bool) -> None:
    if json:
        print_json({**end.status.as_json(), "shortfall": end.shortfall, **error_part(end.problem)})
    else:
        typer.echo("\n".join(status_lines(end.status)))
        typer.echo(f"details: {command_text('campaign', 'report', end.status.name)}")


def _print_plan(status: CampaignStatus, json: bool) -> int:
    limit_per_s = sum(number.limit_per_s for number in status.numbers)
    if json:
        takes_s = round(status.waiting / limit_per_s, 1) if limit_per_s else None
        plan = {"would_send": status.waiting, "limit_per_s": limit_per_s, "takes_s": takes_s}
        print_json({**status.as_json(), **plan})
        return 0
    takes = duration(status.waiting / limit_per_s) if limit_per_s else "an unknown time"
    typer.echo("\n".join(status_lines(status)))
    typer.echo(f"{pluralise(status.waiting, 'message')} would be sent, in about {takes} at {limit_per_s:g}/s")
    return 0
