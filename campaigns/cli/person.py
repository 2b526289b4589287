"""`drumbeat person`: what happened to one person, and the end of it."""

from typing import Annotated

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.campaign_options import Region
from drumbeat.campaigns.cli.options import Json, Yes
from drumbeat.campaigns.cli.person_text import person_lines, receipt_lines
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.task_runner import with_connection
from drumbeat.campaigns.life.forget import forget_person
from drumbeat.campaigns.results.person import read_person, read_spellings
from drumbeat.engine.errors import UsageError

app = typer.Typer(
    name="person",
    help="Show what happened to one person, over all campaigns, or forget the person.",
    no_args_is_help=True,
    add_completion=False,
)

Phone = Annotated[str, typer.Argument(metavar="PHONE", help="The phone, in any spelling.")]


@app.command(context_settings={"ignore_unknown_options": True})
def show(phone: Phone, region: Region = None, json: Json = False) -> None:
    """Show every campaign, attempt, status and message of one person, in order.

    The times of statuses and messages are the service's, in whole seconds. All other times are Drumbeat's.
    """
    spellings = read_spellings(phone, region)
    found = with_connection(lambda connection: read_person(connection, spellings))
    if json:
        print_json(found.as_json())
    else:
        typer.echo("\n".join(person_lines(found)))


@app.command(context_settings={"ignore_unknown_options": True})
def forget(phone: Phone, region: Region = None, yes: Yes = False, json: Json = False) -> None:
    """Erase one person: phone, values, messages, and the ids that hold the phone. Print a receipt.

    All counts stay, with a pseudonym in the place of the person. A phone on the suppression list stays there,
    so that nothing is sent again; `suppress remove` takes it off. Backups still hold what was erased.
    """
    spellings = read_spellings(phone, region)
    if not yes:
        if not typer.get_text_stream("stdin").isatty():
            raise UsageError(
                "a person cannot be brought back, and no terminal can confirm it", remedy="add --yes"
            )
        typer.confirm(f"Erase +{spellings[0]}? This cannot be undone.", abort=True, err=True)
    receipt = with_connection(lambda connection: forget_person(connection, spellings, actor=actor()))
    if json:
        print_json(receipt.as_json())
    else:
        typer.echo("\n".join(receipt_lines(receipt)))
