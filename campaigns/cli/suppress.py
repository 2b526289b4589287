"""`drumbeat suppress`: manage the suppression list."""

import csv
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.cli import suppress_words
from drumbeat.campaigns.cli.campaign_options import CountryColumn, PhoneColumn, Region, rejects_option
from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.planning_progress import planning_shown
from drumbeat.campaigns.cli.printing import error_part, print_json, print_rows
from drumbeat.campaigns.cli.task_runner import with_connection, with_database
from drumbeat.campaigns.phones.phone_text import phone_text
from drumbeat.campaigns.phones.suppression import (
    ADDED_BY_HAND,
    EXPORT_HEADER,
    SuppressionCounts,
    add_suppressions,
    export_cells,
    list_suppressions,
    remove_suppressions,
)
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.results.replies import ReceivedReply, likely_opt_outs
from drumbeat.engine.errors import DrumbeatError, Incomplete
from drumbeat.engine.store.database import Connection, Pool

app = typer.Typer(
    name="suppress", help="Manage the suppression list.", no_args_is_help=True, add_completion=False
)

app.add_typer(suppress_words.app)

_UNCHANGED = {"added": "on the list already", "removed": "not on the list"}

Phones = Annotated[list[str], typer.Argument(help="Phone numbers, with + or --region.", metavar="PHONE...")]
Reason = Annotated[str, typer.Option(help="Reason to note in the list.")]


@app.command()
def add(phones: Phones, reason: Reason = ADDED_BY_HAND, region: Region = None, json: Json = False) -> None:
    """Add phone numbers. From now on nothing is sent to them, in running campaigns too."""
    _print(
        "added",
        with_connection(
            lambda connection: add_suppressions(connection, phones, reason, region, actor=actor())
        ),
        json,
    )


@app.command()
def remove(phones: Phones, region: Region = None, json: Json = False) -> None:
    """Remove phone numbers. A campaign that has skipped them does not send to them later."""
    _print(
        "removed",
        with_connection(lambda connection: remove_suppressions(connection, phones, region, actor=actor())),
        json,
    )


@app.command("list")
def list_all(json: Json = False) -> None:
    """Write the list as CSV, or as one JSON line for each entry. It holds phone numbers: keep it safe."""

    async def write(connection: Connection) -> None:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        if not json:
            writer.writerow(EXPORT_HEADER)
        async for entry in list_suppressions(connection):
            if json:
                print_json({**asdict(entry), "phone": phone_text(entry.phone)})
            else:
                writer.writerow(export_cells(entry))

    with_connection(write)


@app.command()
def likely(
    limit: Annotated[int, typer.Option(help="Most messages to show.", min=1, max=1000)] = 100,
    json: Json = False,
) -> None:
    """Show messages that probably ask for no more messages, in other words than those that count.

    Nobody is suppressed by them: read them, and `suppress add` those who mean it. They are the newest ones,
    of people who are not on the list.
    """

    async def read(pool: Pool) -> list[ReceivedReply]:
        found: list[ReceivedReply] = []
        before = None
        while len(found) < limit:
            page = await likely_opt_outs(pool, before=before)
            found, before = found + page.replies, page.next
            if before is None:
                break
        return found[:limit]

    found = with_database(read)
    if json:
        shown = [asdict(each) for each in found]
        print_json({"schema": 1, "replies": shown})
        return
    rows: list[tuple[Any, ...]] = [
        (f"+{each.phone}", f"{each.sent_at:%Y-%m-%d %H:%MZ}", each.text) for each in found
    ]
    print_rows(("PHONE", "AT", "TEXT"), rows)


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="A CSV file.")],
    reason: Reason = "imported",
    phone_column: PhoneColumn = "phone",
    region: Region = None,
    country_column: CountryColumn = None,
    rejects: Annotated[Path | None, rejects_option("suppress")] = None,
    json: Json = False,
) -> None:
    """Add the phone numbers of a file, as `add` does. Exit with 3 if a row cannot be read."""
    with planning_shown(quiet=json) as progress:
        counts = with_connection(
            lambda connection: import_suppressions(
                connection,
                file,
                reason=reason,
                phone_column=phone_column,
                region=region,
                country_column=country_column,
                rejects_path=rejects,
                progress=progress,
            )
        )
    problem = _unread(counts) if counts.rejected else None
    _print("added", counts, json, problem)
    if problem is not None:
        raise problem


def _unread(counts: SuppressionCounts) -> Incomplete:
    return Incomplete(
        f"{pluralise(counts.rejected, 'row')} could not be read: these people may still be sent to",
        where=str(counts.rejects_path),
        remedy="correct these rows and import them",
    )


def _print(what: str, counts: SuppressionCounts, json: bool, problem: DrumbeatError | None = None) -> None:
    path = None if counts.rejects_path is None else str(counts.rejects_path)
    if json:
        print_json({"schema": 1, **asdict(counts), "rejects_path": path, **error_part(problem)})
        return
    rest = f"{counts.unchanged:,} {_UNCHANGED[what]}" if counts.unchanged else ""
    bad = f"{counts.rejected:,} cannot be read, listed in {path}" if counts.rejected else ""
    typer.echo(", ".join(part for part in (f"{counts.changed:,} {what}", rest, bad) if part))
    if counts.hidden:
        typer.echo(f"{pluralise(counts.hidden, 'row')} of it that the sheet hides counted like all others")
