"""`drumbeat message send`: one message to one person."""

from pathlib import Path
from typing import Annotated, Any

import typer

from drumbeat.campaigns.changing.send_message import message_spec, new_name, plan_message, run_message
from drumbeat.campaigns.cli.campaign_options import Region, option
from drumbeat.campaigns.cli.options import Json, Quiet
from drumbeat.campaigns.cli.printing import error_part, note, print_json
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.task_runner import ready_database, run_loop, with_settings
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.free_form import read_message
from drumbeat.engine.app import POOL_CONNECTIONS
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.process.settings import Settings, load_settings
from drumbeat.engine.process.telemetry import quieten
from drumbeat.engine.store.database import Pool

app = typer.Typer(
    name="message", help="Send one message to one person.", no_args_is_help=True, add_completion=False
)


@app.callback()
def group() -> None:
    """Send one message to one person."""


@app.command()
def send(
    to: Annotated[str, typer.Option(help="The recipient's phone.", metavar="PHONE")],
    number: Annotated[str, typer.Option(help="Phone number ID to send with.", metavar="PNID")],
    template: Annotated[str | None, typer.Option(help="Name of an approved template.")] = None,
    language: Annotated[str | None, typer.Option(help="Language of the template, such as pt_BR.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(help="Text for a placeholder; repeat for each, in order.", metavar="TEXT"),
    ] = None,
    header_media_id: Annotated[str | None, option("header_media_id")] = None,
    header_link: Annotated[str | None, option("header_link")] = None,
    header_filename: Annotated[str | None, option("header_filename")] = None,
    text: Annotated[str | None, typer.Option(help="A text message.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            help='JSON file with a message of any other type: {"type": "image", "image": {...}}.',
            metavar="FILE",
        ),
    ] = None,
    reply_to: Annotated[
        str | None,
        typer.Option(help="wamid of the message that a --text or --file answers.", metavar="WAMID"),
    ] = None,
    region: Region = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="Name of the campaign that records it. A command that is repeated with this name sends once."
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Send one message to one person, as a campaign with one recipient, and show the result.

    The message keeps to the pace and the pair rate. If you give a --name, you can repeat the command safely:
    the message is sent once. Outside the recipient's 24-hour window, the service takes templates only.
    """
    if [template, text, file].count(None) != 2:
        raise UsageError("one message is needed", remedy="give one of --template, --text and --file")
    spec = message_spec(
        name or new_name(),
        number=number,
        template=template,
        language=language,
        params=param or (),
        text=text,
        message=None if file is None else _object(file),
        reply_to=reply_to,
        region=region,
        header_link=header_link,
        header_media_id=header_media_id,
        header_filename=header_filename,
    )
    raise typer.Exit(_plan_and_run(spec, to, json=json, quiet=quiet))


def _plan_and_run(spec: CampaignSpec, to: str, *, json: bool, quiet: bool) -> int:
    quieten()
    settings = load_settings()
    settings.service()  # before anything is stored
    url = ready_database(settings)
    with database_blamed(url):
        run_loop(plan_message(url, spec, to, disk=settings.disk()))
    if not quiet:
        note(f'recorded as campaign "{spec.name}"; see `{command_text("campaign", "report", spec.name)}`')

    async def main(pool: Pool, settings: Settings) -> int:
        with stop_on_signals() as stop:
            sent = await run_message(
                pool, settings.service(), spec.name, stop=stop.event, disk=settings.disk()
            )
        problem = None if stop.asked else sent.problem
        if json:
            print_json({**sent.as_json(), **error_part(problem)})
        else:
            typer.echo(f"{sent.state}  {sent.wamid}".rstrip())
        if problem is not None:
            raise problem
        return stop.exit_code

    return with_settings(main, size=POOL_CONNECTIONS, by_key=True)


def _object(file: Path) -> dict[str, Any]:
    """Return the message that a file describes."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"the file cannot be read: {error.strerror}", where=str(file)) from error
    return read_message(content, str(file))
