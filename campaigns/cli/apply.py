"""`drumbeat campaign apply`: a campaign as a manifest describes it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.changes_text import print_refusal
from drumbeat.campaigns.cli.create import create_and_show
from drumbeat.campaigns.cli.options import DryRun, Json, Now, Quiet
from drumbeat.campaigns.options.campaign_spec import campaign_spec
from drumbeat.campaigns.options.command import takes_options
from drumbeat.campaigns.options.manifest_file import read_manifest
from drumbeat.campaigns.options.spec import NAME, CampaignSpec
from drumbeat.campaigns.options.values import by_key, in_words_of_keys
from drumbeat.campaigns.planning.change import ChangeRefused
from drumbeat.engine.errors import UsageError

app = typer.Typer(add_completion=False)


@app.command()
@takes_options(campaign_spec, as_changes=True)
def apply(
    manifest: Annotated[
        Path, typer.Argument(help="TOML file with the options of a campaign.", metavar="FILE")
    ],
    *,
    name: Annotated[str | None, typer.Option(help="The campaign's name, instead of the file's.")] = None,
    options: dict[str, Any],
    now: Now = False,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Create a campaign as a manifest describes it, or change it to that. Send nothing.

    The same manifest again changes nothing. A difference is shown. What may change while the campaign runs
    is changed; a draft is planned anew; anything else is refused with 78, and nothing is changed.

    A scheduled campaign whose new start has passed would send at once: that needs --now.

    Keys of the manifest are the options below, with _ for -. An option given here replaces the file's.
    """
    named = {} if name is None else {NAME: name}
    where = str(manifest)
    changes = by_key(campaign_spec, options) | named
    try:
        spec = read_spec(manifest, changes)
        create_and_show(spec, dry_run=dry_run, json=json, quiet=quiet, change_by=actor(), now=now)
    except ChangeRefused as refusal:
        print_refusal(refusal, json=json)
        raise
    except UsageError as error:
        raise in_words_of_keys(error, campaign_spec, where) from error


def read_spec(manifest: Path, changes: dict[str, Any]) -> CampaignSpec:
    """Return the campaign that a manifest describes. `changes`, by key, replace values of the file."""
    return campaign_spec(**read_manifest(manifest, campaign_spec, changes))
