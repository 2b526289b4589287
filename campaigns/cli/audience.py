"""`drumbeat audience`: check a file before a campaign is created from it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.audience.check.copy_rejected import copy_rejected
from drumbeat.campaigns.audience.check.inspection import Inspection, inspect_audience
from drumbeat.campaigns.audience.check.reject_file import default_rejects_path
from drumbeat.campaigns.audience.check.row_check import RowRules
from drumbeat.campaigns.cli.campaign_options import (
    CountryColumn,
    PhoneColumn,
    Region,
    option,
    rejects_option,
)
from drumbeat.campaigns.cli.finding_text import finding_lines
from drumbeat.campaigns.cli.options import Json, Output, Quiet
from drumbeat.campaigns.cli.output import opened, writing
from drumbeat.campaigns.cli.phone_lines import phone_lines
from drumbeat.campaigns.cli.planning_progress import GUESS, planning_shown
from drumbeat.campaigns.cli.printing import note, print_json
from drumbeat.campaigns.options.audience_options import pairs
from drumbeat.campaigns.options.sources import Format, HiddenRowsChoice, PhoneKind, ReadOptions
from drumbeat.campaigns.options.table import FORMS
from drumbeat.campaigns.output.output_file import require_other_file
from drumbeat.campaigns.phones.kinds import Kind
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import ConfigurationError

app = typer.Typer(name="audience", help="Check audience files.", no_args_is_help=True, add_completion=False)

FileFormat = Annotated[Format | None, option("format")]
Sheet = Annotated[str | None, option("sheet")]
HiddenRows = Annotated[HiddenRowsChoice | None, option("hidden_rows")]

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


@app.callback()
def group() -> None:
    """Check audience files."""


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help=f"A file: {FORMS}. - is standard input.")],
    param: Annotated[
        list[str] | None,
        typer.Option(help="Column for a placeholder; a row without a value in it is bad.", metavar="COLUMN"),
    ] = None,
    phone_column: PhoneColumn = "phone",
    column_map: Annotated[list[str] | None, option("map")] = None,
    default: Annotated[list[str] | None, option("default")] = None,
    region: Region = None,
    country_column: CountryColumn = None,
    repair_old: Annotated[list[str] | None, option("repair_old")] = None,
    first_number: Annotated[bool, option("first_number")] = False,
    only_mobile: Annotated[bool, option("only_mobile")] = False,
    leave_out: Annotated[list[PhoneKind] | None, option("leave_out")] = None,
    file_format: FileFormat = None,
    sheet: Sheet = None,
    hidden_rows: HiddenRows = None,
    rejects: Annotated[Path | None, rejects_option("check")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 78 if any row is bad.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check every row as `campaign create` does. Count the good rows and list the bad ones in a file.

    Rows that repeat an earlier phone are only counted. `campaign create` leaves them out and lists them too.
    """
    with planning_shown(quiet=quiet) as progress:
        found = inspect_audience(
            file,
            rejects_path=rejects or default_rejects_path(file, "check"),
            rules=RowRules(
                phone_column,
                tuple(param or ()),
                region,
                pairs("map", column_map),
                pairs("default", default),
                tuple(repair_old or ()),
                country_column=country_column,
                first_number=first_number,
                leave_out=frozenset(Kind(kind) for kind in leave_out or ()),
                only_mobile=only_mobile,
            ),
            options=ReadOptions(file_format, sheet, hidden_rows),
            progress=progress,
        )
    if json:
        print_json({"schema": 1, **asdict(found), "rejects_path": _text(found.rejects_path)})
    else:
        _print(found)
    if strict and found.rejected:
        raise ConfigurationError(
            f"{pluralise(found.rejected, 'bad row')}, and --strict allows none", where=str(file)
        )


@app.command()
def rejected(
    file: Annotated[Path, typer.Argument(help="The audience file that the list belongs to.")],
    listed: Annotated[Path, typer.Argument(help="The list of its rejected rows.", metavar="LIST")],
    output: Output = None,
    file_format: FileFormat = None,
    sheet: Sheet = None,
) -> None:
    """Copy the rejected rows of a file unchanged, so that you can correct them and send to them alone.

    LIST is the file that `campaign create` or `audience check` wrote. Duplicates are left out, because these
    people are in the campaign already.
    """
    if output is not None:
        for source in (file, listed):
            require_other_file(output, source, "output")
    with opened(output, "utf-8-sig") as target, writing(output):
        # The list names the rows: hidden ones are in it only if they were read.
        options = ReadOptions(file_format, sheet, HiddenRowsChoice.READ)
        rows = copy_rejected(file, listed, target, options)
    if output is not None:
        note(f"{pluralise(rows, 'row')} in {output}")


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _print(found: Inspection) -> None:
    if found.delimiter is None:
        typer.echo(sanitise(found.form))
    else:
        encoding = f"{found.encoding} ({GUESS})" if found.encoding_guessed else found.encoding
        typer.echo(f"{encoding}, separated by {_DELIMITERS.get(found.delimiter, found.delimiter)}")
    typer.echo(f"columns: {sanitise(', '.join(found.columns))}")
    typer.echo(f"{pluralise(found.rows, 'row')}: {found.good:,} good, {found.rejected:,} bad")
    for code, count in found.reject_codes.items():
        typer.echo(f"  {code} {count:,}")
    if found.duplicates:
        repeat = pluralise(found.duplicates, "good row repeats", "good rows repeat")
        typer.echo(f"{repeat} the phone of an earlier row")
    for line in (*phone_lines(found.countries, found.kinds), *finding_lines(found.findings)):
        typer.echo(line)
    if found.rejects_path is not None:
        typer.echo(f"the bad rows are listed in {found.rejects_path}")
