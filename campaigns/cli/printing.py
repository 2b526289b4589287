"""What commands print: results on stdout as JSON or as a table, notes for people on stderr."""

from __future__ import annotations

from typing import Any
from unicodedata import combining, east_asian_width

import orjson
import typer

# orjson writes these control characters as they are, and a terminal would obey them.
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}


def print_json(value: Any) -> None:
    """One JSON document on stdout, on one line."""
    typer.echo(orjson.dumps(value, option=orjson.OPT_UTC_Z).decode().translate(_JSON_ESCAPES))


def print_rows(headings: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    """A table in plain text on stdout; columns as wide as needed."""
    texts = [headings, *(tuple("" if cell is None else str(cell) for cell in row) for row in rows)]
    widths = [max(map(_places, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = (cell + " " * (width - _places(cell)) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _places(text: str) -> int:
    """How many places of a terminal it takes: names of businesses and campaigns are in any script."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def note(line: str) -> None:
    """Something for a person who looks on: stderr, so that results stay clean."""
    typer.echo(line, err=True)
