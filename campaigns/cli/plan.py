"""`drumbeat campaign plan`: who will get the message, by which number and when, and what it costs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from drumbeat.campaigns.account.tier_warnings import tier_warning
from drumbeat.campaigns.cli.options import CampaignName, Json
from drumbeat.campaigns.cli.printing import print_json, print_rows
from drumbeat.campaigns.cli.status_text import quota_warning
from drumbeat.campaigns.cli.task_runner import with_settings
from drumbeat.campaigns.planning.checked.template_set import unmatched_text
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.preview.plan import CampaignPlan, Timing, plan_of
from drumbeat.campaigns.prices import Cost, read_prices
from drumbeat.campaigns.template_shares import share_lines
from drumbeat.engine.core.forecast import NumberShare
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def plan(
    name: CampaignName,
    prices: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with the columns country, category, price, currency and date. Default: the setting"
            " prices.",
            metavar="FILE",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show what a campaign will do: recipients by country and number, times, limits, cost, who is left out.

    The times are those of a start now, or at the campaign's own start if that is later. The plan is of the
    whole campaign, also if a part of it is sent already.
    """

    async def read(pool: Pool, settings: Settings) -> CampaignPlan:
        table = None if (file := prices or settings.prices) is None else read_prices(file)
        return await plan_of(pool, name, table, datetime.now(UTC), settings.quota_scope)

    found = with_settings(read)
    if json:
        print_json(found.as_json())
    else:
        _print(found)


def _print(found: CampaignPlan) -> None:
    names = ", ".join(dict.fromkeys(template.name for template in found.templates))
    languages = ", ".join(dict.fromkeys(template.language for template in found.templates))
    typer.echo(
        f"{found.name}: {pluralise(found.recipients, 'message')} of {names} ({languages}),"
        f" category {found.category or 'unknown'}"
    )
    for line in share_lines(found.templates):
        typer.echo(f"  {line}")
    if found.unmatched:
        typer.echo(f"  rows that got the fallback: {unmatched_text(found.unmatched)}")
    rows: list[tuple[Any, ...]] = [(country, f"{count:,}") for country, count in found.countries.items()]
    print_rows(("COUNTRY", "RECIPIENTS"), rows)
    print_rows(
        ("NUMBER", "LIMIT", "RECIPIENTS", "MESSAGING LIMIT", "24-HOUR PERIODS"),
        [_number_row(number) for number in found.numbers],
    )
    for line in (*_timing_lines(found.timing), *_tier_lines(found), *_left_out_lines(found)):
        typer.echo(line)
    for line in _cost_lines(found.cost):
        typer.echo(line)


def _number_row(number: NumberShare) -> tuple[Any, ...]:
    limit = f"{number.limit_per_s:g}/s"
    return number.phone_number_id, limit, f"{number.recipients:,}", number.tier or "unknown", number.days


def _timing_lines(timing: Timing) -> Iterator[str]:
    yield f"sending takes {timing.sending_s:,.1f} s at the limits of the numbers"
    end = f"{timing.ends_at:%Y-%m-%d %H:%M:%SZ}" if timing.ends_at else "more than ten years later"
    yield f"from {timing.starts_at:%Y-%m-%d %H:%M:%SZ} to {end}, by the limits and the window"
    if timing.expires_before_end:
        yield f"warning: it expires at {timing.expires_at:%Y-%m-%d %H:%M:%SZ}, before everybody is sent to"


def _tier_lines(found: CampaignPlan) -> Iterator[str]:
    for number in found.numbers:
        if number.tier_doubt is not None:
            words = tier_warning(
                number.phone_number_id, number.tier, number.tier_doubt, number.people_per_day
            )
            yield f"warning: {words}"
        if number.allowed is None:
            yield f"warning: the messaging limit of {number.phone_number_id} is not known"
        elif number.people_per_day is not None and number.people_used:
            used = f"{number.people_used:,} of {number.people_per_day:,}"
            yield f"{number.phone_number_id} has written to {used} people in the last 24 hours"
    if found.days > 1:
        yield quota_warning(found.days)


def _left_out_lines(found: CampaignPlan) -> Iterator[str]:
    listed = ", ".join(f"{reason} {count:,}" for reason, count in found.left_out.items() if count)
    yield f"left out: {listed or 'nobody'}"


def _cost_lines(cost: Cost | None) -> Iterator[str]:
    if cost is None:
        return
    if cost.oldest is not None:
        dates = f"{cost.oldest}" if cost.oldest == cost.newest else f"{cost.oldest} to {cost.newest}"
        totals = ", ".join(f"{total:,} {currency}" for currency, total in cost.totals.items())
        yield f"cost: {totals}, by prices of {dates} for {cost.category}"
    if cost.unpriced:
        listed = ", ".join(f"{country} {count:,}" for country, count in cost.unpriced.items())
        yield f"warning: the file has no price of {cost.category} for: {listed}"
