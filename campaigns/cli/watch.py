"""`drumbeat campaign watch`: how far a campaign is, until its last status has come."""

from typing import Annotated

import typer

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.cli.options import CampaignName, Json, Quiet
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.run_progress import view_for, watched
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.status_text import status_lines
from drumbeat.campaigns.cli.task_runner import with_database
from drumbeat.campaigns.life.settling import until_settled
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def watch(
    name: CampaignName,
    timeout: Annotated[
        float | None, typer.Option(help="Stop after this time. Default: never.", min=0, metavar="SECONDS")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the progress of a campaign and of its statuses, whichever process sends it. Ctrl-C ends it.

    It ends by itself when the campaign is over and every message is read, delivered, failed or skipped. A
    message to a phone that is switched off stays sent for days. The progress goes to stderr, the status at
    the end to stdout.
    """

    async def main(pool: Pool) -> int:
        campaign_id = (await find_campaign(pool, name)).campaign_id
        with stop_on_signals() as stop:
            async with watched(pool, campaign_id, view_for(json=json, quiet=quiet)):
                status = await until_settled(
                    pool, campaign_id, timeout_s=timeout, stop=stop.event, whole_life=True
                )
            if json:
                print_json({**status.as_json(), "unsettled": status.unsettled})
            else:
                typer.echo("\n".join(status_lines(status)))
            return stop.exit_code

    raise typer.Exit(with_database(main))
