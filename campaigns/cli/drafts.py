"""`drumbeat campaign clone`, `edit` and `delete`: campaigns made from others, changed and removed."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.changing.delete import delete_campaign
from drumbeat.campaigns.changing.derived import cloned, edit_campaign
from drumbeat.campaigns.cli.campaign_options import NewName, takes_options
from drumbeat.campaigns.cli.changes_text import print_refusal
from drumbeat.campaigns.cli.confirmation import confirm
from drumbeat.campaigns.cli.create import create_and_show, show_created
from drumbeat.campaigns.cli.options import CampaignName, DryRun, Json, Now, Quiet, Yes
from drumbeat.campaigns.cli.planning_progress import planning_shown
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.task_runner import ready_database, run_loop, with_connection
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.planning.change import ChangeRefused
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.process.settings import load_settings

app = typer.Typer(add_completion=False)

Unset = Annotated[
    list[str] | None,
    typer.Option(help="An option to leave out, such as expires-at; repeat for more.", metavar="OPTION"),
]


@app.command()
@takes_options(as_changes=True)
def clone(
    name: CampaignName,
    new: NewName,
    *,
    options: dict[str, Any],
    unset: Unset = None,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create a campaign with the options of another one. Options given here replace its own.

    The audience is read anew, from where NAME's was read. The external id is not copied.
    """
    spec = with_connection(lambda connection: cloned(connection, name, new, options, unset or ()))
    create_and_show(spec, dry_run=dry_run, json=json, quiet=quiet)


@app.command()
@takes_options(as_changes=True)
def edit(
    name: CampaignName,
    *,
    options: dict[str, Any],
    unset: Unset = None,
    now: Now = False,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Change options of a campaign; the others stay. A draft can change everything but its name.

    A campaign that runs can change its expiry, its window and its --max-failed; its senders follow within a
    second. Everything else is refused with 78.

    A scheduled campaign whose new start has passed would send at once: that needs --now.
    """
    stored = with_connection(lambda connection: stored_options(connection, name))
    settings = load_settings()
    url = ready_database(settings)
    try:
        with planning_shown(quiet=quiet) as progress, database_blamed(url):
            created = run_loop(
                edit_campaign(
                    url,
                    stored,
                    options,
                    unset or (),
                    progress,
                    change_by=actor(),
                    disk=settings.disk(),
                    dry_run=dry_run,
                    open_uploads=uploads_with(settings),
                    now=now,
                )
            )
    except ChangeRefused as refusal:
        print_refusal(refusal, json=json)
        raise
    show_created(created, json=json)


@app.command()
def delete(name: CampaignName, yes: Yes = False, json: Json = False) -> None:
    """Delete a campaign that was never started, with its recipients. One that was stays on record."""
    confirm(f"Delete the campaign {name}?", yes=yes)
    url = ready_database(load_settings())
    with database_blamed(url):
        deleted = run_loop(delete_campaign(url, name, actor=actor()))
    if json:
        print_json({"schema": 1, "deleted": True, **asdict(deleted)})
        return
    typer.echo(f"{deleted.name}: deleted, with {pluralise(deleted.recipients, 'recipient')}")
