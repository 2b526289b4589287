"""`drumbeat campaign clone`, `edit` and `delete`: campaigns made from others, changed and removed."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from campaigns.cli.changes_text import print_refusal
from campaigns.cli.confirmation import confirm
from campaigns.cli.create import campaign_spec, create_and_show, show_created
from campaigns.cli.database_errors import database_blamed
from campaigns.cli.options import CampaignName, DryRun, Json, NewName, Quiet, Yes
from campaigns.cli.printing import print_json
from campaigns.cli.task_runner import ready_database, run_loop, with_connection
from campaigns.life.actor import actor
from campaigns.life.delete import delete_campaign
from campaigns.manifest.command import takes_options
from campaigns.manifest.values import by_key, needs_audience, of_clone, of_edit
from campaigns.planning.amend import amend_campaign
from campaigns.planning.change import ChangeRefused
from campaigns.planning.spec import CampaignSpec
from campaigns.planning.stored import stored_options
from campaigns.pluralise import pluralise
from engine.process.settings import load_settings

app = typer.Typer(add_completion=False)

Unset = Annotated[
    list[str] | None,
    typer.Option(help="An option to leave out, such as expires-at; repeat for more.", metavar="OPTION"),
]


@app.command()
@takes_options(campaign_spec, as_changes=True)
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
    stored = with_connection(lambda connection: stored_options(connection, name))
    changes = by_key(campaign_spec, options)
    values = of_clone(stored.values, new, changes, unset or (), campaign_spec)
    create_and_show(campaign_spec(**values), dry_run=dry_run, json=json, quiet=quiet)


@app.command()
@takes_options(campaign_spec, as_changes=True)
def edit(
    name: CampaignName,
    *,
    options: dict[str, Any],
    unset: Unset = None,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Change options of a campaign; the others stay. A draft can change everything but its name.

    A campaign that runs can change its expiry, its window and its --max-failed; its senders follow within a
    second. Everything else is refused with 78.
    """
    stored = with_connection(lambda connection: stored_options(connection, name))
    changes = by_key(campaign_spec, options)
    values = of_edit(stored.values, changes, unset or (), campaign_spec)
    spec = campaign_spec(**values)
    try:
        same_audience = not needs_audience(changes, unset or ())
        if not (same_audience and _amended(spec, dry_run=dry_run, json=json)):
            create_and_show(spec, dry_run=dry_run, json=json, quiet=quiet, change_by=actor())
    except ChangeRefused as refusal:
        print_refusal(refusal, json=json)
        raise


def _amended(spec: CampaignSpec, *, dry_run: bool, json: bool) -> bool:
    """Whether the change needed no new plan, and was made."""
    url = ready_database(load_settings())
    with database_blamed(url):
        changed = run_loop(amend_campaign(url, spec, change_by=actor(), dry_run=dry_run))
    if changed is not None:
        show_created(changed, json=json)
    return changed is not None


@app.command()
def delete(name: CampaignName, yes: Yes = False, json: Json = False) -> None:
    """Delete a draft with its recipients. A campaign that was started stays on record."""
    confirm(f"Delete the draft {name}?", yes=yes)
    url = ready_database(load_settings())
    with database_blamed(url):
        deleted = run_loop(delete_campaign(url, name, actor=actor()))
    if json:
        print_json({"schema": 1, "deleted": True, **asdict(deleted)})
        return
    typer.echo(f"{deleted.name}: deleted, with {pluralise(deleted.recipients, 'recipient')}")
