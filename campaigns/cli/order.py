"""`drumbeat campaign order`: another priority or share, also while the campaign is sent."""

from dataclasses import asdict
from typing import Annotated

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.campaign_options import option
from drumbeat.campaigns.cli.options import CampaignName, Json
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.status_text import order_text
from drumbeat.campaigns.cli.task_runner import with_connection
from drumbeat.campaigns.life.order import set_order
from drumbeat.campaigns.options.order import check_share, read_priority
from drumbeat.engine.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command()
def order(
    name: CampaignName,
    priority: Annotated[
        str | None,
        option("priority"),
    ] = None,
    share: Annotated[int | None, option("share")] = None,
    even_share: Annotated[
        bool, typer.Option("--even-share", help="Remove the share of the campaign.")
    ] = False,
    json: Json = False,
) -> None:
    """Change the priority or the share of a campaign, also while it is sent."""
    if priority is None and share is None and not even_share:
        raise UsageError("nothing to change", remedy="give --priority, --share or --even-share")
    if share is not None and even_share:
        raise UsageError("--share and --even-share contradict each other", remedy="give one of them")
    check_share(share)
    rank = None if priority is None else read_priority(priority)
    changed = with_connection(
        lambda connection: set_order(connection, name, rank, share, even_share=even_share, actor=actor())
    )
    if json:
        print_json({"schema": 1, **asdict(changed)})
    else:
        typer.echo(f"{changed.name}: {order_text(changed.priority, changed.share_percent)}")
