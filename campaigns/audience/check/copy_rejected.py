"""A copy of the rows that a list of rejects names, so that a person can correct them and send to them alone.

Law: no other row is copied, or people would get a second message. Duplicates are left out, because these
people are in the campaign. If a line differs from what the list says, the file has changed, and nothing is
copied.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

from drumbeat.campaigns.audience.check.encoding_question import known_table
from drumbeat.campaigns.audience.check.reject_file import HEADER, spreadsheet_safe
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.audience.open.reader import Row, RowBatch
from drumbeat.campaigns.options.sources import ALL_ROWS, AS_IT_IS, ReadOptions
from drumbeat.campaigns.output.spreadsheet import as_written
from drumbeat.campaigns.reject import KNOWN_PHONES
from drumbeat.engine.errors import ConfigurationError

LISTED_MAX = 1_000_000  # the list is held in memory; nobody corrects more rows by hand


class ListedReject(NamedTuple):
    """A rejected row, with its column and value as the list has them."""

    column: str
    value: str


def copy_rejected(audience: Path, listed: Path, file: TextIO, options: ReadOptions = AS_IT_IS) -> int:
    """Write the header and the rows that `listed` names as CSV, with the delimiter of a CSV audience; return
    how many.

    Raise ConfigurationError if `listed` is no list of rejects, or does not match this audience.
    """
    refused = _read_list(listed)
    with open_table(audience, options) as source:
        reader = known_table(source, source.table(), None)
        writer = csv.writer(file, delimiter=reader.dialect.delimiter if reader.dialect else ",")
        writer.writerow(reader.header)
        copied = 0
        for batch in reader.batches():
            for line, row in _named(batch, refused):
                _require_same(reader.header, row, line, refused[line], audience)
                if isinstance(row, str):
                    file.write(f"{row}\r\n")
                else:
                    writer.writerow(row)
                copied += 1
    if copied < len(refused):
        raise _changed(audience)
    return copied


def _read_list(listed: Path) -> dict[int, ListedReject]:
    """Return the rejected rows by line. A spreadsheet may have saved the list, so it is read like an
    audience.
    """
    refused: dict[int, ListedReject] = {}
    with open_table(listed, ALL_ROWS) as source:
        reader = source.table()
        if tuple(reader.header) != HEADER:
            raise ConfigurationError(
                "this is not a list of rejected rows",
                where=str(listed),
                remedy="give the list that `campaign create` or `audience check` wrote",
            )
        for batch in reader.batches():
            for line, code, column, _, value in batch.rows:
                if code not in KNOWN_PHONES and line.isdecimal():
                    refused[int(line)] = ListedReject(column, value)
            if len(refused) > LISTED_MAX:
                raise ConfigurationError(f"the list has more than {LISTED_MAX:,} rows", where=str(listed))
    return refused


def _named(batch: RowBatch, refused: dict[int, ListedReject]) -> Iterator[tuple[int, Row | str]]:
    """Give the rows that the list names, in file order. A line that is no valid row is given as text."""
    rows: list[tuple[int, Row | str]] = [
        (line, row) for line, row in zip(batch.lines, batch.rows, strict=True) if line in refused
    ]
    rows += [(reject.line, reject.value) for reject in batch.rejects if reject.line in refused]
    yield from sorted(rows, key=lambda named: named[0])


def _require_same(header: Row, row: Row | str, line: int, refused: ListedReject, audience: Path) -> None:
    column, value = refused
    if isinstance(row, str):
        cells = [row] if not column else []
    else:
        cells = [cell for name, cell in zip(header, row, strict=True) if spreadsheet_safe(name) == column]
    if not any(value in (spreadsheet_safe(cell), spreadsheet_safe(as_written(cell))) for cell in cells):
        raise _changed(audience, line)


def _changed(audience: Path, line: int | None = None) -> ConfigurationError:
    return ConfigurationError(
        "the list does not match this file as it is now",
        where=str(audience) if line is None else f"{audience}, line {line:,}",
        remedy="make a new list with `drumbeat audience check`",
    )
