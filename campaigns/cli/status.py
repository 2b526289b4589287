"""`drumbeat campaign list` and `status`: the campaigns, and how far each one is."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated

import typer

from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.cli.options import CampaignName, Json
from drumbeat.campaigns.cli.printing import print_json, print_rows
from drumbeat.campaigns.cli.status_text import status_lines
from drumbeat.campaigns.cli.task_runner import with_connection, with_database
from drumbeat.campaigns.life.control import LISTED_MAX, list_campaigns
from drumbeat.campaigns.options.schedule import read_moment
from drumbeat.campaigns.results.campaign_pages import whys_of
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status, measured_per_s
from drumbeat.campaigns.results.why import Why, reason_in_words
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.store.database import Connection, Pool

app = typer.Typer(add_completion=False)

MEASURED_S = 1.0  # requests are counted in batches; this spans twenty of them


@app.command("list")
def list_all(
    tests: Annotated[
        bool, typer.Option("--tests", help="Show the messages of `campaign test-send` as well.")
    ] = False,
    state: Annotated[CampaignState | None, typer.Option(help="Only those in this state.")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Only those created since this time: ISO 8601 with an offset.", metavar="TIME"),
    ] = None,
    limit: Annotated[int, typer.Option(help="Most campaigns to show.", min=1, max=LISTED_MAX)] = LISTED_MAX,
    json: Json = False,
) -> None:
    """Show the campaigns, the newest first."""
    created = None if since is None else read_moment("since", since)

    async def read(connection: Connection) -> tuple[list[Campaign], dict[int, list[Why]]]:
        listed = await list_campaigns(connection, tests=tests, state=state, since=created, limit=limit)
        return listed, await whys_of(connection, listed)

    campaigns, whys = with_connection(read)
    if json:
        print_json({"schema": 1, "campaigns": [asdict(campaign) for campaign in campaigns]})
        return
    print_rows(
        ("NAME", "STATE", "RECIPIENTS", "TEMPLATE", "CREATED", "REASON"),
        [
            (
                campaign.name,
                campaign.state,
                campaign.recipients,
                campaign.template,
                f"{campaign.created_at:%Y-%m-%d %H:%MZ}",
                _in_words(whys.get(campaign.campaign_id, []), campaign.reason),
            )
            for campaign in campaigns
        ],
    )


def _in_words(whys: Sequence[Why], stored: str) -> str:
    notes = [why.words for why in whys if not why.is_reason]
    return "; ".join(filter(None, [reason_in_words(whys, stored), *notes]))


@app.command()
def status(name: CampaignName, json: Json = False) -> None:
    """Show a campaign's recipients by state, its rate and what is left."""
    found = with_database(lambda pool: read_status(pool, name))
    if json:
        print_json(found.as_json())
    else:
        typer.echo("\n".join(status_lines(found)))


async def read_status(pool: Pool, name: str) -> CampaignStatus:
    """Return the status of a campaign by name. Raise ConfigurationError if it does not exist.

    While the campaign is sent, this takes MEASURED_S to measure the rate, which may be below the limit.
    """
    campaign_id = (await find_campaign(pool, name)).campaign_id
    before, began_s = await campaign_status(pool, campaign_id), time.monotonic()
    if before.rate_per_s is not None:
        return before
    await asyncio.sleep(MEASURED_S)
    after, elapsed_s = await campaign_status(pool, campaign_id), time.monotonic() - began_s
    return replace(after, measured_per_s=measured_per_s(before, after, elapsed_s))
