"""`drumbeat campaign list` and `status`: what there is, and how far it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from campaigns.cli.edge import JSON_HELP, print_json, print_rows, with_connection, with_database
from campaigns.cli.words import status_lines
from campaigns.progress import CampaignStatus, campaign_status
from campaigns.service import find_campaign, list_campaigns
from engine.store.database import Pool

app = typer.Typer(add_completion=False)

Json = Annotated[bool, typer.Option("--json", help=JSON_HELP)]


@app.command("list")
def list_all(json: Json = False) -> None:
    """Show the campaigns, the newest first."""
    campaigns = with_connection(list_campaigns)
    if json:
        print_json({"schema": 1, "campaigns": [asdict(campaign) for campaign in campaigns]})
        return
    print_rows(
        ("NAME", "STATE", "RECIPIENTS", "TEMPLATE", "CREATED", "REASON"),
        [
            (
                one.name,
                one.state,
                one.recipients,
                one.template,
                f"{one.created_at:%Y-%m-%d %H:%M}",
                one.reason,
            )
            for one in campaigns
        ],
    )


@app.command()
def status(name: Annotated[str, typer.Argument(help="The campaign.")], json: Json = False) -> None:
    """Show a campaign's recipients by state, its rate and what is left."""
    found = with_database(lambda pool: read_status(pool, name))
    if json:
        print_json(found.as_json())
    else:
        typer.echo("\n".join(status_lines(found)))


async def read_status(pool: Pool, name: str) -> CampaignStatus:
    """The status of a campaign by name; ConfigurationError where there is none."""
    async with pool.acquire() as connection:
        campaign = await find_campaign(connection, name)
    return await campaign_status(pool, campaign.campaign_id)
