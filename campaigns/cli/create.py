"""`drumbeat campaign create`: an audience becomes a campaign, ready to be sent."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import typer

from drumbeat.campaigns.cli.campaign_options import takes_options
from drumbeat.campaigns.cli.changes_text import print_changes
from drumbeat.campaigns.cli.finding_text import finding_lines
from drumbeat.campaigns.cli.message_lines import message_lines
from drumbeat.campaigns.cli.options import DryRun, Json, Quiet
from drumbeat.campaigns.cli.phone_lines import phone_lines
from drumbeat.campaigns.cli.planning_progress import GUESS, planning_shown
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.status_text import audience_sum, how_to_start, quota_warning
from drumbeat.campaigns.cli.task_runner import ready_database, run_loop, with_database
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.values import require_a_file
from drumbeat.campaigns.planning.checked.template_set import unmatched_text
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.preview.days import days_needed
from drumbeat.campaigns.results.why import why_of_draft
from drumbeat.campaigns.template_shares import share_lines
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.process.settings import load_settings

app = typer.Typer(add_completion=False)


@app.command()
@takes_options()
def create(
    *, options: dict[str, Any], dry_run: DryRun = False, json: Json = False, quiet: Quiet = False
) -> None:
    """Check the audience against the template and store its recipients. Send nothing.

    If you repeat the same command, nothing changes. If the name exists with another file or other options,
    the command refuses.
    """
    require_a_file(options)
    create_and_show(CampaignSpec(**options), dry_run=dry_run, json=json, quiet=quiet)


def create_and_show(
    spec: CampaignSpec,
    planner: Callable[..., Coroutine[Any, Any, CreatedCampaign]] | None = None,
    *,
    dry_run: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Plan the campaign, with `create_campaign` or another `planner` that takes the same. Show the result."""
    spec.checked_guards()  # reports wrong options before a database is started
    settings = load_settings()
    url = ready_database(settings)
    with planning_shown(quiet=quiet) as progress, database_blamed(url):
        created = run_loop(
            (planner or create_campaign)(
                url,
                spec,
                progress,
                disk=settings.disk(),
                dry_run=dry_run,
                open_uploads=uploads_with(settings),
            )
        )
    show_created(created, json=json)


def show_created(created: CreatedCampaign, *, json: bool) -> None:
    """Print what a create or a change did, or would do."""
    recipients, scope = created.counts.recipients, load_settings().quota_scope
    days = with_database(lambda pool: days_needed(pool, created.campaign.phone_number_ids, recipients, scope))
    if json:
        print_json({**_as_json(created), "days": days})
    else:
        _print(created, days)


def _as_json(created: CreatedCampaign) -> dict[str, Any]:
    rejects = created.audience.rejects_path
    return {
        "schema": 1,
        **created.as_json(),
        "rejects_file": None if rejects is None else str(rejects),
        "changes": [change.as_json() for change in created.changes],
    }


def _print(created: CreatedCampaign, days: int) -> None:
    state = "a dry run, nothing is stored" if created.dry_run else created.state
    typer.echo(
        f"{created.name}: {state}"
        + (", unchanged: this campaign exists already" if created.unchanged else "")
    )
    print_changes(created.changes)
    if created.audience_kept:
        typer.echo(
            "its people stay as they were planned: the audience is not read again (--no-keep-audience)"
        )
    for line in (*_audience_lines(created), *_earlier_lines(created)):
        typer.echo(line)
    if days > 1:
        typer.echo(quota_warning(days))
    if created.dry_run or created.state != CampaignState.DRAFT:
        return
    if created.campaign.start_at is not None:
        typer.echo(f"it {why_of_draft(created.campaign.start_at).words}")
        typer.echo(how_to_start(created.name))
    elif not created.unchanged:
        typer.echo(f"send it with: {command_text('campaign', 'run', created.name)}")


def _audience_lines(created: CreatedCampaign) -> Iterator[str]:
    """Give the lines that account for the rows of the audience."""
    counts, audience = created.counts, created.audience
    yield audience_sum(counts.audience_rows, counts.recipients, counts.rejected, counts.duplicates)
    if counts.suppressed:
        are = pluralise(counts.suppressed, "recipient is", "recipients are")
        yield f"{are} on the suppression list and will be skipped"
    if counts.without_hours:
        have = pluralise(counts.without_hours, "recipient has", "recipients have")
        yield f"{have} no sending hours and will be skipped: their time zones share no allowed hour"
    if audience.left_out_codes:
        left_out = ", ".join(f"{code} {count:,}" for code, count in sorted(audience.left_out_codes.items()))
        yield f"left out, because a retry does not help: {left_out} (--all-codes takes them)"
    yield from share_lines(created.campaign.templates)
    if audience.unmatched:
        yield f"no language of the template, so they get the fallback: {unmatched_text(audience.unmatched)}"
    if audience.encoding is not None and audience.encoding.is_guess:
        yield f"read as {audience.encoding.label}: {GUESS}"
    yield from phone_lines(audience.countries, audience.kinds)
    yield from finding_lines(audience.findings)
    codes = ", ".join(f"{code} {count:,}" for code, count in audience.reject_codes.items())
    if audience.rejects_path is not None:
        yield f"rejected and duplicate rows: {audience.rejects_path} ({codes})"
    elif codes:
        yield f"rejected and duplicate rows: {codes}"
    yield from message_lines(audience.first_messages)


def _earlier_lines(created: CreatedCampaign) -> Iterator[str]:
    """Give warnings about people who got, or are about to get, another message."""
    if created.earlier.same_audience:
        others = ", ".join(f'"{name}"' for name in created.earlier.same_audience)
        yield (
            f"warning: the same file is the audience of {others}: recipients get a message from each, "
            "unless a cap on the messages to one person (--cap) forbids it"
        )
    for earlier in created.earlier.same_people:
        people = pluralise(earlier.recipients, "recipient is", "recipients are")
        since = f"{earlier.since:%Y-%m-%d %H:%MZ}"
        sent = f"sent since {since}" if earlier.started else f"planned since {since} and not sent yet"
        yield f'warning: {people} also in the campaign "{earlier.name}", {sent}'
