"""The dialect of a CSV file: what separates cells, and how a quote inside a quoted cell is written.

Law: a backslash is a letter unless the file shows that it escapes quotes. Only `\\"` and `\\\\` are read so
then; `\\N` stays, because programs write it for "no value".
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from drumbeat.campaigns.audience.open.delimiter import delimiter_of

_ESCAPE = re.compile(r"\\([\"\\])")
_ESCAPED_QUOTE = '\\"'


class LineCursor:
    """A source of lines for a csv reader, which takes as many as a row needs. `position` can be set back."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.position = 0
        self.ran_out = False
        self._lines = lines

    def __iter__(self) -> "LineCursor":
        return self

    def __next__(self) -> str:
        if self.position == len(self._lines):
            self.ran_out = True
            raise StopIteration
        self.position += 1
        return self._lines[self.position - 1]


class Dialect(NamedTuple):
    """`skips_spaces`: spaces before a cell are no part of it, so that a quote after them opens the cell.
    `has_escapes`: a backslash escapes the quotes in a quoted cell.
    """

    delimiter: str
    skips_spaces: bool = True
    has_escapes: bool = False

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return the rows of lines that `prepared` made."""
        return csv.reader(lines, delimiter=self.delimiter, skipinitialspace=self.skips_spaces, strict=True)

    def prepared(self, text: str) -> str:
        """Return the text with quotes in the form that `reader` knows. Its lines stay the same lines."""
        return _ESCAPE.sub(_doubled, text) if self.has_escapes and "\\" in text else text

    def row(self, line: str) -> list[str] | None:
        """Return the one row of a line; None if the line is not a whole row."""
        try:
            rows = list(self.reader([self.prepared(line)]))
        except csv.Error:
            return None
        return rows[0] if len(rows) == 1 else None

    def odd_rows(self, line: str) -> Iterator[list[str]]:
        """Give the rows that a line may mean that is wrong as it stands: with other escapes, with spaces
        behind a closing quote or before a quote, or with quotes that are text.
        """
        folded = re.sub(rf'(?<=[^"])"[ \t]+(?={re.escape(self.delimiter)}|[\r\n]|$)', '"', line)
        for has_escapes in (self.has_escapes, not self.has_escapes):
            for text in dict.fromkeys((line, folded)):
                if (row := self._replace(has_escapes=has_escapes).row(text)) is not None:
                    yield row
        if (row := self._replace(skips_spaces=not self.skips_spaces).row(line)) is not None:
            yield row

    def rows(self, lines: Sequence[str]) -> Iterator[tuple[int, list[str] | None]]:
        """Give each row with the index of its first line; None for a line that is no row."""
        cursor = LineCursor([self.prepared(line) for line in lines])
        reader = self.reader(cursor)
        while (start := cursor.position) < len(lines):
            try:
                yield start, next(reader)
            except csv.Error:
                cursor.position = start + 1
                yield start, None


def dialect_of(lines: Sequence[str], delimiter: str | None, *, keep_spaces: bool) -> Dialect:
    """Return the dialect of a file with these first lines, the header first. None: find the delimiter.

    Spaces that are to be kept are part of cells only if the file has none before a quote.
    """
    plain = Dialect(delimiter or delimiter_of(lines[0]))
    if keep_spaces and not any(f'{plain.delimiter} "' in line for line in lines):
        plain = plain._replace(skips_spaces=False)
    escaping = plain._replace(has_escapes=True)
    if not any(_ESCAPED_QUOTE in line for line in lines):
        return plain
    wrong = [sum(row is None for _, row in each.rows(lines)) for each in (plain, escaping)]
    return escaping if wrong[1] < wrong[0] else plain


def _doubled(found: re.Match[str]) -> str:
    return '""' if found[1] == '"' else "\\"
