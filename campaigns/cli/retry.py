"""`drumbeat campaign retry`: a campaign of those whom another one did not reach."""

from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.changing.retry import RetryOptions, plan_retry
from drumbeat.campaigns.cli.campaign_options import option, rejects_option
from drumbeat.campaigns.cli.create import show_created
from drumbeat.campaigns.cli.options import CampaignName, DryRun, Json, Quiet
from drumbeat.campaigns.cli.planning_progress import planning_shown
from drumbeat.campaigns.cli.task_runner import ready_database, run_loop
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.planning.header_uploads import uploads_with
from drumbeat.engine.errors import UsageError
from drumbeat.engine.process.settings import load_settings

app = typer.Typer(add_completion=False)


@app.command()
def retry(
    name: CampaignName,
    failed: Annotated[bool, typer.Option("--failed", help="Send again to the failed recipients.")] = False,
    code: Annotated[
        list[int] | None, typer.Option(help="Only those that failed with this code; repeat for more.")
    ] = None,
    all_codes: Annotated[
        bool,
        typer.Option(
            "--all-codes",
            help="Also those who failed with a code that a retry does not help, such as 131026.",
        ),
    ] = False,
    new_name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the new campaign. Default: NAME/retry-1.", metavar="NEW"),
    ] = None,
    start_at: Annotated[str | None, option("start_at")] = None,
    expires_at: Annotated[str | None, option("expires_at")] = None,
    rejects: Annotated[Path | None, rejects_option("rejects")] = None,
    dry_run: DryRun = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Plan a campaign that sends once more to those whom NAME did not reach. Send nothing yet.

    It has the template, the numbers and the options of NAME, and only recipients that are failed, never those
    in doubt, skipped or waiting. Late statuses count: if one shows that NAME reached a recipient, and the new
    message is not yet claimed, it is not sent. After the code 131049, a recipient waits until 24 hours are
    over. Left out are those who failed with a code that a retry does not help, unless --code or --all-codes
    names them; if nobody else is left, this exits with 75.

    Nobody is in two retries of one campaign. To send again to those that fail again, retry the retry.
    """
    if not failed:
        raise UsageError("no recipients are chosen", remedy="add --failed")
    if code and all_codes:
        raise UsageError("--code and --all-codes contradict each other", remedy="give one of them")
    given = RetryOptions(tuple(code or ()), new_name, start_at, expires_at, rejects, all_codes)
    settings = load_settings()
    url = ready_database(settings)
    with planning_shown(quiet=quiet) as progress, database_blamed(url):
        created = run_loop(
            plan_retry(
                url,
                name,
                given,
                progress,
                disk=settings.disk(),
                dry_run=dry_run,
                open_uploads=uploads_with(settings),
            )
        )
    show_created(created, json=json)
