"""`drumbeat campaign apply`: a campaign as a manifest describes it."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.changing.apply import apply_campaign
from drumbeat.campaigns.cli.campaign_options import takes_options
from drumbeat.campaigns.cli.changes_text import print_refusal
from drumbeat.campaigns.cli.create import create_and_show
from drumbeat.campaigns.cli.options import DryRun, Json, Now, Quiet
from drumbeat.campaigns.options.manifest_file import read_manifest
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.values import of_file
from drumbeat.campaigns.planning.change import ChangeRefused
from drumbeat.engine.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command()
@takes_options(as_changes=True)
def apply(
    manifest: Annotated[
        Path, typer.Argument(help="TOML file with the options of a campaign.", metavar="FILE")
    ],
    *,
    name: Annotated[str | None, typer.Option(help="The campaign's name, instead of the file's.")] = None,
    options: dict[str, Any],
    now: Now = False,
    keep_audience: Annotated[
        bool,
        typer.Option(
            "--keep-audience/--no-keep-audience",
            help="Keep the people of a campaign that is no draft, whatever its audience holds now. Else other"
            " rows are refused.",
        ),
    ] = True,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create a campaign as a manifest describes it, or change it to that. Send nothing.

    The same manifest again changes nothing. A difference is shown. What may change while the campaign runs
    is changed; a draft is planned anew; anything else is refused with 78, and nothing is changed. Once the
    campaign is scheduled or started, its people stay, and the audience is not read again.

    A scheduled campaign whose new start has passed would send at once: that needs --now.

    Keys of the manifest are the options below, with _ for -. An option given here replaces the file's.
    """
    changes = options if name is None else {**options, "name": name}
    try:
        spec = read_spec(manifest, changes)
        planner = partial(apply_campaign, change_by=actor(), now=now, keep_audience=keep_audience)
        create_and_show(spec, planner, dry_run=dry_run, json=json, quiet=quiet)
    except ChangeRefused as refusal:
        print_refusal(refusal, json=json)
        raise
    except UsageError as error:
        raise of_file(error, str(manifest)) from error


def read_spec(manifest: Path, changes: dict[str, Any]) -> CampaignSpec:
    """Return the campaign that a manifest describes. `changes`, by key, replace values of the file."""
    return CampaignSpec(**read_manifest(manifest, changes))
