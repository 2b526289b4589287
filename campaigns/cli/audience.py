"""`drumbeat audience`: check a file before a campaign is created from it."""

from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.audience.check.copy_rejected import copy_rejected
from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.check.inspection import Inspection, inspect_audience
from drumbeat.campaigns.audience.check.reject_file import default_rejects_path
from drumbeat.campaigns.cli.campaign_options import (
    CountryColumn,
    PhoneColumn,
    Region,
    option,
    rejects_option,
)
from drumbeat.campaigns.cli.finding_text import finding_lines
from drumbeat.campaigns.cli.message_lines import message_lines
from drumbeat.campaigns.cli.options import Json, Output, Quiet
from drumbeat.campaigns.cli.output import opened, writing
from drumbeat.campaigns.cli.phone_lines import phone_lines
from drumbeat.campaigns.cli.planning_progress import GUESS, planning_shown
from drumbeat.campaigns.cli.printing import error_part, note, print_json
from drumbeat.campaigns.cli.task_runner import with_database
from drumbeat.campaigns.options.sources import (
    STANDARD_INPUT,
    Format,
    HiddenRowsChoice,
    PhoneKind,
    ReadOptions,
)
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.table import FORMS
from drumbeat.campaigns.output.output_file import require_other_file
from drumbeat.campaigns.planning.staged.filling import Filling, filling_of
from drumbeat.campaigns.planning.staged.first_messages import SHOWN, first_messages
from drumbeat.campaigns.planning.staged.spec_rules import file_rules
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.reject import REASONS
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool

app = typer.Typer(name="audience", help="Check audience files.", no_args_is_help=True, add_completion=False)

FileFormat = Annotated[Format | None, option("format")]
Sheet = Annotated[str | None, option("sheet")]
HiddenRows = Annotated[HiddenRowsChoice | None, option("hidden_rows")]
HeaderRow = Annotated[int | None, option("header_row")]
Encoding = Annotated[str | None, option("encoding")]
TEMPLATE_HELP = "Template, to check the filled messages and to show the first. It needs the database."

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
    template: Annotated[str | None, option("template", help=TEMPLATE_HELP)] = None,
    language: Annotated[str | None, option("language")] = None,
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
    header_row: HeaderRow = None,
    encoding: Encoding = None,
    keep_spaces: Annotated[bool, option("keep_spaces")] = False,
    repair: Annotated[bool, option("repair")] = False,
    empty_words: Annotated[bool, option("empty_words")] = False,
    rejects: Annotated[Path | None, rejects_option("check")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 78 if any row is bad.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check every row as `campaign create` does. Count the good rows and list the bad ones in a file.

    Rows that repeat an earlier phone are only counted. `campaign create` leaves them out and lists them too.
    """
    spec = CampaignSpec(
        name="check",
        number=["none"],
        audience=file,
        template=template or "none",
        language=language or "none",
        param=param,
        phone_column=phone_column,
        map=column_map,
        default=default,
        region=region,
        country_column=country_column,
        repair_old=repair_old,
        first_number=first_number,
        only_mobile=only_mobile,
        leave_out=leave_out,
        format=file_format,
        sheet=sheet,
        hidden_rows=hidden_rows,
        header_row=header_row,
        encoding=encoding,
        keep_spaces=keep_spaces,
        repair=repair,
        empty_words=empty_words,
    )
    _check(
        spec,
        file,
        rejects,
        with_template=_has_template(template, language),
        json=json,
        quiet=quiet,
        strict=strict,
    )


def _has_template(template: str | None, language: str | None) -> bool:
    if (template is None) != (language is None):
        raise UsageError("{template} and {language} go together", remedy="give both, or none", values={})
    return template is not None


def _check(
    spec: CampaignSpec,
    file: Path,
    rejects: Path | None,
    *,
    with_template: bool,
    json: bool,
    quiet: bool,
    strict: bool,
) -> None:
    filling = _filling(spec, file) if with_template else Filling((), file_rules(spec))
    with planning_shown(quiet=quiet) as progress:
        found = inspect_audience(
            file,
            rejects_path=rejects or default_rejects_path(file, "check"),
            rules=filling.rules,
            options=spec.reading,
            progress=progress,
        )
    messages = first_messages(filling.templates, found.first[:SHOWN])
    problem = None
    if strict and found.rejected:
        problem = ConfigurationError(
            f"{pluralise(found.rejected, 'bad row')}, and --strict allows none", where=str(file)
        )
    if json:
        shown = [message.as_json() for message in messages]
        print_json({"schema": 1, **found.as_json(), "first_messages": shown, **error_part(problem)})
    else:
        _print(found)
        for line in message_lines(messages):
            typer.echo(line)
    if problem is not None:
        raise problem


def _filling(spec: CampaignSpec, file: Path) -> Filling:
    """Return what fills the template. The file is opened twice, for its columns and for its rows."""
    if file == STANDARD_INPUT:
        raise UsageError("{template} needs a file: it is read twice", remedy="save it to a file", values={})
    columns = glimpse(file, spec.reading).columns

    async def read(pool: Pool) -> Filling:
        async with pool.acquire() as connection:
            return await filling_of(connection, spec, columns)

    return with_database(read)


@app.command()
def rejected(
    file: Annotated[Path, typer.Argument(help="The audience file that the list belongs to.")],
    listed: Annotated[Path, typer.Argument(help="The list of its rejected rows.", metavar="LIST")],
    output: Output = None,
    file_format: FileFormat = None,
    sheet: Sheet = None,
    header_row: HeaderRow = None,
    encoding: Encoding = None,
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
        options = ReadOptions(file_format, sheet, HiddenRowsChoice.READ, encoding, header_row=header_row)
        rows = copy_rejected(file, listed, target, options)
    if output is not None:
        note(f"{pluralise(rows, 'row')} in {output}")


def _print(found: Inspection) -> None:
    if found.delimiter is None:
        typer.echo(sanitise(found.form))
    else:
        encoding = f"{found.encoding} ({GUESS})" if found.encoding_guessed else found.encoding
        typer.echo(f"{encoding}, separated by {_DELIMITERS.get(found.delimiter, found.delimiter)}")
    typer.echo(f"columns: {sanitise(', '.join(found.columns))}")
    typer.echo(f"{pluralise(found.rows, 'row')}: {found.good:,} good, {found.rejected:,} bad")
    for code, count in found.reject_codes.items():
        typer.echo(f"  {code} {count:,}: {REASONS[code]}")
    if found.duplicates:
        repeat = pluralise(found.duplicates, "good row repeats", "good rows repeat")
        typer.echo(f"{repeat} the phone of an earlier row")
    typer.echo(f"{pluralise(found.people, 'person', 'people')} can be sent to")
    for line in (*phone_lines(found.countries, found.kinds), *finding_lines(found.findings)):
        typer.echo(line)
    if found.rejects_path is not None:
        typer.echo(f"the bad rows are listed in {found.rejects_path}")
