"""`drumbeat campaign report`: the results of a campaign in sum."""

import typer

from campaigns.cli.options import CampaignName, Json
from campaigns.cli.printing import print_json
from campaigns.cli.report_text import report_lines
from campaigns.cli.task_runner import with_database
from campaigns.life.control import find_campaign, require_planned
from campaigns.results.report import Report, campaign_report
from engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def report(name: CampaignName, json: Json = False) -> None:
    """Show who got the message, who did not and why, the rates, and whether the counts add up."""
    found = with_database(lambda pool: read_report(pool, name))
    if json:
        print_json(found.as_json())
    else:
        typer.echo("\n".join(report_lines(found)))


async def read_report(pool: Pool, name: str) -> Report:
    """The report of a campaign by name; ConfigurationError if it does not exist."""
    return await campaign_report(pool, await planned_id(pool, name))


async def planned_id(pool: Pool, name: str) -> int:
    """The id of a campaign whose recipients are stored; TryLater if it is not fully planned."""
    campaign = await find_campaign(pool, name)
    require_planned(campaign)
    return campaign.campaign_id
