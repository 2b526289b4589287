"""The output of commands: results on stdout as JSON or as a table, notes for people on stderr."""

from typing import Any
from unicodedata import combining, east_asian_width

import orjson
import typer

from drumbeat.campaigns.command_text import flag
from drumbeat.engine.errors import DrumbeatError

# orjson writes these control characters as they are, and a terminal would obey them.
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


_printed: list[bool] = []


def print_json(value: Any) -> None:
    """Print one JSON document on one line of stdout."""
    _printed.append(True)
    typer.echo(orjson.dumps(value, option=orjson.OPT_UTC_Z).decode().translate(_JSON_ESCAPES))


def error_part(problem: DrumbeatError | None) -> dict[str, Any]:
    """Return what a result says of the problem with which its command ends."""
    return {} if problem is None else {"error": problem.as_json(flag)}


def print_problem(problem: dict[str, Any]) -> None:
    """Print the problem that ends a command with --json, unless it has printed a document: that says it."""
    if not _printed:
        print_json({"schema": 1, "error": problem})


def forget() -> None:
    """Forget what was printed: a process may run several commands."""
    _printed.clear()


def print_rows(headings: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """Print a table in plain text on stdout; each column is as wide as its widest cell."""
    texts = [headings, *(tuple("" if cell is None else str(cell) for cell in row) for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _width(text: str) -> int:
    """Return how many columns of a terminal the text takes. Names may be in any script."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def note(line: str) -> None:
    """Print a line for people on stderr, so that stdout holds results only."""
    typer.echo(line, err=True)
