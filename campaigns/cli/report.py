"""`drumbeat campaign report`: the results of a campaign in sum, and by a property of recipients."""

from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.campaign import find_campaign, require_planned
from drumbeat.campaigns.cli.breakdown_text import headings, row
from drumbeat.campaigns.cli.options import CampaignName, Json
from drumbeat.campaigns.cli.output import opened, writing
from drumbeat.campaigns.cli.printing import note, print_json, print_rows
from drumbeat.campaigns.cli.report_text import report_lines
from drumbeat.campaigns.cli.task_runner import with_database, with_settings
from drumbeat.campaigns.prices import PriceTable, read_prices
from drumbeat.campaigns.results.breakdown import By, Line, breakdown
from drumbeat.campaigns.results.report import Report, campaign_report
from drumbeat.campaigns.results.results import CampaignResults, campaign_results
from drumbeat.campaigns.stored_recipients import require_kept
from drumbeat.engine.errors import UsageError
from drumbeat.engine.process.settings import Settings, load_settings
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def report(
    name: CampaignName,
    by: Annotated[
        By | None, typer.Option(help=f"A line for each {', '.join(By)}.", metavar="PROPERTY")
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option(
            help="With --by or --html: prices as CSV: country,category,price,currency,date.", metavar="FILE"
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write all results to this file, as a page that opens offline.", metavar="FILE"),
    ] = None,
    json: Json = False,
) -> None:
    """Show who got the message, who did not and why, the rates, and whether the counts add up.

    With --by, show recipients by one property: their states, how many replied, how long half and nine tenths
    of the messages took to be delivered and read, and what the service charges for. Hours are those of the
    first attempt, in the time zone of the campaign's window.
    """
    if html is not None:
        _write_page(name, html, prices)
        return
    if by is not None:
        _print_lines(name, by, None if prices is None else read_prices(prices), json=json)
        return
    if prices is not None:
        raise UsageError("--prices needs --by or --html", remedy="add --by country")
    found = with_database(lambda pool: read_report(pool, name))
    if json:
        print_json(found.as_json())
    else:
        typer.echo("\n".join(report_lines(found)))


def _write_page(name: str, html: Path, prices: Path | None) -> None:
    from drumbeat.campaigns.console.campaigns.results_pages import (
        report_file,  # imports aiohttp and jinja2, which only a page needs
    )
    from drumbeat.campaigns.console.web.language import texts_of

    async def read(pool: Pool, settings: Settings) -> CampaignResults:
        table = None if (file := prices or settings.prices) is None else read_prices(file)
        return await campaign_results(pool, await planned_id(pool, name), table)

    text = report_file(with_settings(read), texts_of("en", load_settings().console_zone))
    with opened(html) as file, writing(html):
        file.write(text)
    note(f"page written to {html}")


def _print_lines(name: str, by: By, prices: PriceTable | None, *, json: bool) -> None:
    async def read(pool: Pool) -> list[Line]:
        campaign_id = await planned_id(pool, name)
        await require_kept(pool, campaign_id, name)
        return await breakdown(pool, campaign_id, by, with_countries=prices is not None)

    lines = with_database(read)
    if json:
        found = [line.as_json(by, prices) for line in lines]
        print_json({"schema": 1, "name": name, "by": by.value, "lines": found})
    else:
        print_rows(headings(by, prices), [row(line, by, prices) for line in lines])


async def read_report(pool: Pool, name: str) -> Report:
    """Return the report of a campaign by name. Raise ConfigurationError if it does not exist."""
    return await campaign_report(pool, await planned_id(pool, name))


async def planned_id(pool: Pool, name: str) -> int:
    """Return the id of a campaign whose recipients are stored. Raise TryLater if it is not fully planned."""
    campaign = await find_campaign(pool, name)
    require_planned(campaign)
    return campaign.campaign_id
