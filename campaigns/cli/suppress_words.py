"""`drumbeat suppress words`: the words by which people opt out, and take that back."""

import csv
import sys
from dataclasses import asdict
from typing import Annotated

import typer

from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.task_runner import with_connection
from drumbeat.campaigns.output.spreadsheet import safe_cell
from drumbeat.campaigns.phones.opt_out_words import add_words, list_words, remove_words
from drumbeat.campaigns.pluralise import pluralise

app = typer.Typer(
    name="words",
    help="Manage the words by which people opt out, and take that back.",
    no_args_is_help=True,
    add_completion=False,
)

Words = Annotated[
    list[str], typer.Argument(help="Words or phrases; quote a phrase.", metavar="WORD...", show_default=False)
]
OfLanguage = Annotated[
    str, typer.Option(help="Language of the words, such as pt. It is only a note for people.")
]
OptIn = Annotated[bool, typer.Option("--opt-in", help="Add words that take back an opt-out by a word.")]


@app.command("list")
def list_all(json: Json = False) -> None:
    """Write the words as CSV, or as one JSON line for each."""
    words = with_connection(list_words)
    if json:
        for word in words:
            print_json(asdict(word))
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("language", "word", "meaning"))
    writer.writerows(
        (safe_cell(word.language), safe_cell(word.word), "opt-in" if word.opts_in else "opt-out")
        for word in words
    )


@app.command()
def add(words: Words, language: OfLanguage = "", opt_in: OptIn = False, json: Json = False) -> None:
    """Add words. From now on a message that is only this word opts its sender out."""
    added = with_connection(lambda connection: add_words(connection, words, language, opts_in=opt_in))
    _print("added", added, json)


@app.command()
def remove(words: Words, json: Json = False) -> None:
    """Remove words. Whoever opted out by one of them stays on the suppression list."""
    _print("removed", with_connection(lambda connection: remove_words(connection, words)), json)


def _print(what: str, changed: int, json: bool) -> None:
    if json:
        print_json({"schema": 1, what: changed})
    else:
        typer.echo(f"{pluralise(changed, 'word')} {what}")
