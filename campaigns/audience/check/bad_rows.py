"""The first bad rows of an audience with their cells, so that a person can correct them."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field

from drumbeat.campaigns.audience.open.reader import AudienceTable, Row, RowBatch
from drumbeat.campaigns.reject import Reject

KEPT_MAX = 1_000  # they are held in memory; nobody corrects more by hand
ROW_CHARACTERS_MAX = 4_000  # a page of a form holds some rows


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that a person may correct. `column` is empty if the whole row is wrong. `cells` are in the order
    of the header; they are empty if they are too long to be corrected by hand. `note` says more about the
    reason, such as a length.
    """

    line: int
    code: str
    column: str
    cells: Sequence[str]
    note: str = ""


@dataclass(slots=True)
class BadRows:
    """The first bad rows of a table."""

    rows: list[BadRow] = field(default_factory=list)

    def add(self, table: AudienceTable, batch: RowBatch, rejects: Sequence[Reject]) -> None:
        """Keep the rows that `rejects` name. `rejects` are those of this batch, with those of its reader."""
        wanted = rejects[: KEPT_MAX - len(self.rows)]
        lines = {reject.line for reject in wanted}
        cells = {line: row for line, row in zip(batch.lines, batch.rows, strict=True) if line in lines}
        for reject in wanted:
            row = cells.get(reject.line) or fitted(
                reject.value, table.dialect.delimiter if table.dialect else ",", len(table.header)
            )
            is_short = sum(map(len, row)) <= ROW_CHARACTERS_MAX
            self.rows.append(
                BadRow(reject.line, reject.code, reject.column, row if is_short else (), reject.note)
            )


def fitted(line: str, delimiter: str, width: int) -> Row:
    """Return the cells of a line that is no valid row, as many as the header has. Missing cells are empty;
    text beyond the last column stays in the last cell, where it is seen.
    """
    try:
        cells = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        cells = line.split(delimiter)
    whole = [*cells[: width - 1], delimiter.join(cells[width - 1 :])]
    return whole + [""] * (width - len(whole))
