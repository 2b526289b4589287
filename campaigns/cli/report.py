"""`drumbeat campaign report` and `export`: the results of a campaign, in sum and for each recipient."""

import csv
from pathlib import Path
from typing import Annotated, TextIO

import typer

from campaigns.cli.options import CampaignName, Json, Output
from campaigns.cli.output import opened, writing
from campaigns.cli.printing import note, print_json
from campaigns.cli.report_text import report_lines
from campaigns.cli.task_runner import with_database
from campaigns.life.control import find_campaign, require_planned
from campaigns.pluralise import pluralise
from campaigns.results.export import count_variables, export_rows, headings, require_kept
from campaigns.results.report import Report, campaign_report
from engine.core.states import RecipientState
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


@app.command()
def export(
    name: CampaignName,
    state: Annotated[
        RecipientState | None,
        typer.Option(help=f"Only recipients in this state: {', '.join(RecipientState)}.", metavar="STATE"),
    ] = None,
    output: Output = None,
) -> None:
    """Write every recipient with state, reason and times as CSV. It holds phone numbers: keep it safe.

    The column code holds the service's error code of a failed recipient. It is empty if the service gave
    none; then the reason says more.

    A text that a spreadsheet would run gets an apostrophe in front; an audience loses it again. The file is
    UTF-8 with commas. In Excel, open it with Data, From Text/CSV, or accents come out wrong.
    """

    async def write(pool: Pool) -> int:
        campaign_id = await _campaign_id(pool, name)
        await require_kept(pool, campaign_id, name)
        with opened(output) as file:
            rows = await _write(pool, campaign_id, state, file, output)
            await require_kept(pool, campaign_id, name)  # a prune may have dropped them meanwhile
            return rows

    rows = with_database(write)
    if output is not None:
        note(f"{pluralise(rows, 'recipient')} in {output}")


async def read_report(pool: Pool, name: str) -> Report:
    """The report of a campaign by name; ConfigurationError if it does not exist."""
    return await campaign_report(pool, await _campaign_id(pool, name))


async def _campaign_id(pool: Pool, name: str) -> int:
    campaign = await find_campaign(pool, name)
    require_planned(campaign)
    return campaign.campaign_id


async def _write(
    pool: Pool, campaign_id: int, state: RecipientState | None, file: TextIO, output: Path | None
) -> int:
    writer = csv.writer(file, lineterminator="\n")
    rows = 0
    writer.writerow(headings(await count_variables(pool, campaign_id)))
    async for page in export_rows(pool, campaign_id, state):
        with writing(output):
            writer.writerows(page)
        rows += len(page)
    return rows
