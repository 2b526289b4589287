"""The cleaning of cells: what a spreadsheet or a copied text left around a value is taken off, and told.

Most columns are clean, and their joined text shows it. Only the cells of other columns are looked at.
"""

import re
from collections.abc import Sequence
from itertools import compress, count
from operator import ne
from typing import NamedTuple

from drumbeat.campaigns.audience.open.cell_spaces import is_invisible, trimmed, without_unpaired

# A spreadsheet marks a number that is text with an apostrophe, or writes it as a formula: '00042, ="00042".
_MARKED_NUMBER = re.compile(r"'(?=[+-]?[0-9][0-9A-Z .,:/()%€$£_-]*\Z)")
_QUOTED_FORMULA = re.compile(r'="([^"]*)"')
_SIGNS = (" |", "| ", "|'", '|="')
# They are invisible, but count as printable.
_PRINTABLE_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


class Seen(NamedTuple):
    """Cells of a column with one finding, and their indexes in the batch."""

    code: str
    at: Sequence[int]
    cells: Sequence[str]


class Column(NamedTuple):
    """The cells of a column in a batch, and their text: the cells between bars. Most columns show in their
    text alone that nothing is wrong in any cell; a bar in a cell only makes a second look needed.
    """

    cells: Sequence[str]
    text: str


def column_of(cells: Sequence[str]) -> Column:
    return Column(cells, f"|{'|'.join(cells)}|")


def clean(column: Column, *, keep_spaces: bool) -> tuple[Column, list[Seen]]:
    """Return the cells without what is no part of their values, and what was taken off."""
    cells = column.cells
    if is_clean(column.text):
        return column, []
    cleaned = [_clean_cell(cell, keep_spaces=keep_spaces) for cell in cells]
    by_code: dict[str, list[int]] = {}
    for at in compress(count(), map(ne, cells, cleaned)):
        if (code := _code(cells[at], cleaned[at])) is not None:
            by_code.setdefault(code, []).append(at)
    return column_of(cleaned), [seen_at(code, cells, at) for code, at in by_code.items()]


def seen_at(code: str, cells: Sequence[str], at: Sequence[int]) -> Seen:
    return Seen(code, at, [cells[index] for index in at])


def is_clean(text: str) -> bool:
    """Return whether nothing is to be cleaned in the cells of a column's text."""
    return (
        text.isprintable()
        and not any(sign in text for sign in _SIGNS)
        and (text.isascii() or _PRINTABLE_INVISIBLE.search(text) is None)
    )


def _clean_cell(cell: str, *, keep_spaces: bool) -> str:
    if is_invisible(cell):
        return ""
    text = without_unpaired(cell)
    text = text if keep_spaces else trimmed(text)
    text = _MARKED_NUMBER.sub("", text, 1) if text[0] == "'" else text
    formula = _QUOTED_FORMULA.fullmatch(text) if text[0] == "=" else None
    return formula[1] if formula else text


def _code(cell: str, cleaned: str) -> str | None:
    """Return the finding; None for a cell of spaces alone, which is an empty cell to everybody."""
    if not cleaned and cell.isspace():
        return None
    spaceless = cell.strip()
    if spaceless == cleaned:
        return "spaces_removed"
    return "apostrophe_removed" if spaceless.startswith(("'", "=")) else "invisible_removed"
