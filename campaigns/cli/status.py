"""`drumbeat campaign list` and `status`: what there is, and how far it is."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, replace

import typer

from campaigns.cli.edge import print_json, print_rows, with_connection, with_database
from campaigns.cli.options import CampaignName, Json
from campaigns.cli.words import status_lines
from campaigns.life.control import find_campaign, list_campaigns
from campaigns.results.status import CampaignStatus, campaign_status, measured_per_s
from engine.store.database import Pool

app = typer.Typer(add_completion=False)

MEASURED_S = 1.0  # twenty batches of outcomes: a shorter look would see steps


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
                f"{one.created_at:%Y-%m-%d %H:%MZ}",
                one.reason,
            )
            for one in campaigns
        ],
    )


@app.command()
def status(name: CampaignName, json: Json = False) -> None:
    """Show a campaign's recipients by state, its rate and what is left."""
    found = with_database(lambda pool: read_status(pool, name))
    if json:
        print_json(found.as_json())
    else:
        typer.echo("\n".join(status_lines(found)))


async def read_status(pool: Pool, name: str) -> CampaignStatus:
    """The status of a campaign by name; ConfigurationError where there is none.

    While the campaign is sent this takes MEASURED_S, to measure the rate: the permitted pace is not it.
    """
    campaign_id = (await find_campaign(pool, name)).campaign_id
    before, began_s = await campaign_status(pool, campaign_id), time.monotonic()
    if before.rate_per_s is not None:
        return before
    await asyncio.sleep(MEASURED_S)
    after, elapsed_s = await campaign_status(pool, campaign_id), time.monotonic() - began_s
    return replace(after, measured_per_s=measured_per_s(before, after, elapsed_s))
