"""The output of commands: results on stdout as JSON or as a table, notes for people on stderr."""

from typing import Any
from unicodedata import combining, east_asian_width

import orjson
import typer

# orjson writes these control characters as they are, and a terminal would obey them.
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def print_json(value: Any) -> None:
    """Print one JSON document on one line of stdout."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_UTC_Z).decode().translate(_JSON_ESCAPES))


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
