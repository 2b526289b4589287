"""`drumbeat campaign report` and `export`: what became of everybody, summed up and one by one."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Annotated, TextIO

import typer

from campaigns.cli.edge import note, print_json, with_database
from campaigns.cli.options import CampaignName, Json
from campaigns.cli.output import opened, writing
from campaigns.cli.words import report_lines
from campaigns.counted import counted
from campaigns.life.control import find_campaign, require_planned
from campaigns.results.export import count_variables, export_rows, headings, require_kept
from campaigns.results.report import Report, campaign_report
from engine.core.states import RecipientState
from engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def report(name: CampaignName, json: Json = False) -> None:
    """Show who got it, who did not and why, the rates reached, and whether everything adds up."""
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
    output: Annotated[Path | None, typer.Option(help="Default: stdout.", metavar="FILE")] = None,
) -> None:
    """Write every recipient with state, reason and times as CSV. It holds phone numbers: keep it safe.

    The code is the service's error of who failed; the report counts by it. Where nobody gave one, it is
    empty and the reason says more.

    A text that a spreadsheet would run has an apostrophe before it; read as an audience it loses it again.
    The file is UTF-8 with commas: in Excel open it by Data, From Text/CSV, or accents come out wrong.
    """

    async def write(pool: Pool) -> int:
        campaign_id = await _campaign_id(pool, name)
        await require_kept(pool, campaign_id, name)
        with opened(output) as file:
            rows = await _write(pool, campaign_id, state, file, output)
            await require_kept(pool, campaign_id, name)  # a prune may have come in between
            return rows

    rows = with_database(write)
    if output is not None:
        note(f"{counted(rows, 'recipient')} in {output}")


async def read_report(pool: Pool, name: str) -> Report:
    """The report of a campaign by name; ConfigurationError where there is none."""
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
