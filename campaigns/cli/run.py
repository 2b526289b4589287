"""`drumbeat campaign run`: sends one campaign in this process; run again, it resumes."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer

from campaigns.cli.edge import print_json, with_settings
from campaigns.cli.live import view_for, watched
from campaigns.cli.options import CampaignName, DryRun, Json, MaxFailed, Quiet
from campaigns.cli.signals import stop_on_signals
from campaigns.cli.words import duration, status_lines
from campaigns.command_text import command
from campaigns.counted import counted
from campaigns.life.control import find_campaign
from campaigns.life.run import RunEnd, run_campaign
from campaigns.planning.schedule import check_max_failed
from campaigns.results.status import CampaignStatus, campaign_status
from engine.app import POOL_CONNECTIONS
from engine.process.settings import Settings
from engine.process.telemetry import quieten
from engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def run(
    name: CampaignName,
    json: Json = False,
    quiet: Quiet = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until its time, or for another sender.")] = False,
    dry_run: DryRun = False,
    max_failed: MaxFailed = None,
) -> None:
    """Send a campaign until nobody is left to send to. Ctrl-C stops it in order; run it again to continue.

    Before its --start-at it ends with 75, or waits with --wait. Outside the hours of its --window it waits
    for them, with its numbers, and says so.
    """
    if max_failed is not None:
        check_max_failed(max_failed)
    if quiet:
        quieten()

    async def main(pool: Pool, settings: Settings) -> int:
        campaign = await find_campaign(pool, name)
        if dry_run:
            return _tell_plan(await campaign_status(pool, campaign.campaign_id), json)
        service = settings.service()
        with stop_on_signals() as stop:
            async with watched(pool, campaign.campaign_id, view_for(json=json, quiet=quiet)):
                end = await run_campaign(
                    pool,
                    service,
                    name,
                    stop=stop.event,
                    wait=wait,
                    disk=settings.disk(),
                    max_failed=max_failed,
                )
            with suppress(OSError):  # told by `main`; how it ended counts for more
                _tell(end, json)
            end.require_complete()
            return stop.exit_code

    raise typer.Exit(with_settings(main, size=POOL_CONNECTIONS, by_key=True))


def _tell(end: RunEnd, json: bool) -> None:
    if json:
        print_json({**end.status.as_json(), "shortfall": end.shortfall})
    else:
        typer.echo("\n".join(status_lines(end.status)))
        typer.echo(f"more: {command('campaign', 'report', end.status.name)}")


def _tell_plan(status: CampaignStatus, json: bool) -> int:
    limit_per_s = sum(number.limit_per_s for number in status.numbers)
    if json:
        takes_s = round(status.waiting / limit_per_s, 1) if limit_per_s else None
        plan = {"would_send": status.waiting, "limit_per_s": limit_per_s, "takes_s": takes_s}
        print_json({**status.as_json(), **plan})
        return 0
    takes = duration(status.waiting / limit_per_s) if limit_per_s else "for ever"
    typer.echo("\n".join(status_lines(status)))
    typer.echo(f"{counted(status.waiting, 'message')} would be sent, in about {takes} at {limit_per_s:g}/s")
    return 0
