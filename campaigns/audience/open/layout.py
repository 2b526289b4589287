"""The layout of a CSV file by its first lines: what is no table with one header is refused.

A title above the header would become the only column, and the rows of a second table would be read by the
names of the first.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from drumbeat.campaigns.audience.open.delimiter import DELIMITERS, delimiter_of
from drumbeat.campaigns.audience.open.dialect import Dialect
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.header_row import proposed_header_row, undecided

ROWS_LOOKED_AT = 20  # below a possible title; enough to see whether they have more cells
_SEPARATORS = "".join(DELIMITERS) + '"'


class _Line(NamedTuple):
    """A line of the head: its number, from 1, its filled cells, and whether a blank line is above it."""

    number: int
    cells: list[str]
    is_below_blank: bool

    def repeats(self, header: "_Line") -> bool:
        """Return whether the line has names of the header, and nothing but names."""
        names = {cell.casefold() for cell in header.cells}
        is_data = any(character.isdecimal() for cell in self.cells for character in cell)
        return not is_data and not names.isdisjoint(map(str.casefold, self.cells))


def is_separators(line: str) -> bool:
    """Return whether a line has nothing but separators, empty quotes and spaces."""
    return not line.strip().strip(_SEPARATORS).strip(_SEPARATORS + " \t\xa0")


def require_one_table(
    lines: Sequence[str], first: int, dialect: Dialect, name: str, *, is_header_chosen: bool = False
) -> None:
    """Raise UnreadableAudience if the first lines show a title above the header, or a second table. `first`
    is the number of the first line. `is_header_chosen`: a person said that it names the columns.
    """
    found = list(_filled(lines, first, dialect))
    if len(found) < 2:
        return
    head, below = found[0], found[1:]
    looked_at = below[:ROWS_LOOKED_AT]
    has_one_cell = len(head.cells) == 1 and 2 * sum(len(line.cells) > 1 for line in looked_at) > len(
        looked_at
    )
    is_title = has_one_cell and not is_header_chosen
    header = below[0] if is_title else head
    if (second := _second_table(header, below)) is not None:
        raise UnreadableAudience(
            f"the file holds two tables; the second begins in line {second}",
            where=f"{name}, line {second}",
            remedy="save each table as a file of its own, and delete titles above the names of the columns",
        )
    if is_title:
        rows = [(line.number, line.cells) for line in found[: ROWS_LOOKED_AT + 1]]
        raise undecided("line", rows, proposed_header_row(rows) or header.number, name)


def _second_table(header: _Line, below: Sequence[_Line]) -> int | None:
    """Return the line of a second header, or of the title above it. A blank line is above either."""
    for at, line in enumerate(below):
        if not line.is_below_blank or line.number <= header.number:
            continue
        following = below[at + 1] if at + 1 < len(below) else None
        is_title = len(line.cells) == 1 and following is not None and following.repeats(header)
        is_header = len(line.cells) > 1 and line.repeats(header)
        if is_header or is_title:
            return line.number
    return None


def _filled(lines: Sequence[str], first: int, dialect: Dialect) -> Iterator[_Line]:
    """Give the lines with text. A first line without separators says nothing of the separator below it."""
    if len(lines) > 1 and dialect.delimiter not in lines[0]:
        dialect = dialect._replace(delimiter=delimiter_of(max(lines[1 : ROWS_LOOKED_AT + 1], key=_richness)))
    is_below_blank = False
    for at, row in dialect.rows(lines):
        cells = row if row is not None else next(dialect.odd_rows(lines[at]), [lines[at]])
        filled = [cell.strip() for cell in cells if cell.strip()]
        if filled:
            yield _Line(first + at, filled, is_below_blank)
        is_below_blank = not filled


def _richness(line: str) -> int:
    return sum(map(line.count, DELIMITERS))
