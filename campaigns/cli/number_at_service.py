"""`drumbeat numbers show` and `register`: one number, as the service has it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.cli.options import Json, PhoneNumberId
from drumbeat.campaigns.cli.printing import note, print_json
from drumbeat.campaigns.cli.task_runner import with_service
from drumbeat.engine.errors import ConfigurationError, UsageError

app = typer.Typer()


@app.command()
def show(phone_number_id: PhoneNumberId, json: Json = False) -> None:
    """Ask the service about one number now, and store nothing."""
    number = with_service(lambda _, service, __: service.numbers.get(phone_number_id))
    if json:
        print_json({"schema": 1, **asdict(number)})
        return
    for name, value in asdict(number).items():
        typer.echo(f"{name}: {value}")


@app.command()
def register(
    phone_number_id: PhoneNumberId,
    pin_file: Annotated[
        Path | None,
        typer.Option(help="File with the PIN of 6 digits; - is stdin. Default: ask.", metavar="FILE"),
    ] = None,
    json: Json = False,
) -> None:
    """Register a number with its PIN. The first PIN becomes the number's own; keep it in a safe place."""
    pin = _pin(pin_file)
    with_service(lambda _, service, __: service.numbers.register(phone_number_id, pin))
    if json:
        print_json({"schema": 1, "phone_number_id": phone_number_id, "registered": True})
        return
    note(f"{phone_number_id}: registered; `drumbeat numbers sync` reads its new status")


def _pin(file: Path | None) -> str:
    """Read the PIN from a file or the terminal. It never stands in the command line, which other users of the
    machine can read.
    """
    if file is None:
        if not sys.stdin.isatty():
            raise UsageError("there is no terminal to ask for the PIN", remedy="name a file with --pin-file")
        return str(typer.prompt("PIN", hide_input=True, err=True)).strip()
    try:
        text = sys.stdin.read(64) if str(file) == "-" else file.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError("the PIN cannot be read", where=str(file)) from error
    return text.strip()
