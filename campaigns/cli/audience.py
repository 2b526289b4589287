"""`drumbeat audience`: look at a file before a campaign is made of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from campaigns.audience.inspection import Inspection, inspect_audience
from campaigns.audience.rejected import copy_rejected
from campaigns.audience.rejects import default_rejects_path
from campaigns.cli.edge import note, print_json
from campaigns.cli.options import Json, PhoneColumn, Quiet, Region, rejects_option
from campaigns.cli.output import opened, writing
from campaigns.cli.planning import GUESS, planning_shown
from campaigns.counted import counted
from campaigns.output_file import require_another
from engine.core.sanitise import shown
from engine.errors import ConfigurationError

app = typer.Typer(
    name="audience", help="Look at files of recipients.", no_args_is_help=True, add_completion=False
)

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


@app.callback()
def group() -> None:
    """Look at files of recipients."""


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A CSV file.")],
    param: Annotated[
        list[str] | None,
        typer.Option(help="Column of a placeholder: a row without a value there is bad.", metavar="COLUMN"),
    ] = None,
    phone_column: PhoneColumn = "phone",
    region: Region = None,
    rejects: Annotated[Path | None, rejects_option("check")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 78 when a row is bad.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check every row as `campaign create` does: count the good ones, list the bad ones in a file.

    Rows that repeat an earlier number are counted; `campaign create` leaves them out, and lists them too.
    """
    with planning_shown(quiet=quiet) as progress:
        found = inspect_audience(
            file,
            rejects_path=rejects or default_rejects_path(file, "check"),
            phone_column=phone_column,
            params=tuple(param or ()),
            region=region,
            progress=progress,
        )
    if json:
        print_json({"schema": 1, **asdict(found), "rejects_path": _text(found.rejects_path)})
    else:
        _print(found)
    if strict and found.rejected:
        raise ConfigurationError(
            f"{counted(found.rejected, 'row is', 'rows are')} bad, and --strict allows none", where=str(file)
        )


@app.command()
def rejected(
    file: Annotated[Path, typer.Argument(help="The CSV file that the list is of.")],
    listed: Annotated[Path, typer.Argument(help="The list of its bad rows.", metavar="LIST")],
    output: Annotated[Path | None, typer.Option(help="Default: stdout.", metavar="FILE")] = None,
) -> None:
    """Copy the bad rows of a file as they stand, to correct them and make a campaign of them alone.

    LIST is what `campaign create` or `audience check` wrote. Its duplicates are left out: their people are in
    the campaign.
    """
    if output is not None:
        for source in (file, listed):
            require_another(output, source, "--output")
    with opened(output, "utf-8-sig") as target, writing(output):
        rows = copy_rejected(file, listed, target)
    if output is not None:
        note(f"{counted(rows, 'row')} in {output}")


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _print(found: Inspection) -> None:
    encoding = f"{found.encoding} ({GUESS})" if found.encoding_guessed else found.encoding
    typer.echo(f"{encoding}, separated by {_DELIMITERS.get(found.delimiter, found.delimiter)}")
    typer.echo(f"columns: {shown(', '.join(found.columns))}")
    typer.echo(f"{counted(found.rows, 'row')}: {found.good:,} good, {found.rejected:,} bad")
    for code, count in found.reject_codes.items():
        typer.echo(f"  {code} {count:,}")
    if found.duplicates:
        repeat = counted(found.duplicates, "of the good rows repeats", "of the good rows repeat")
        typer.echo(f"{repeat} the number of an earlier one")
    if found.rejects_path is not None:
        typer.echo(f"listed in {found.rejects_path}")
