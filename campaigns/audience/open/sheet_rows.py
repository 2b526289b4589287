"""The rows of a sheet as people see them: values by their formats, lost cells by their words, a merged value
in each of its rows.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import groupby
from operator import itemgetter

from python_calamine import CalamineSheet

from drumbeat.campaigns.audience.open.cell_error import MERGED, UNNAMED
from drumbeat.campaigns.audience.open.cell_text import time_text
from drumbeat.campaigns.audience.open.number_format.formats import CellFormat
from drumbeat.campaigns.audience.open.number_format.numbers import general
from drumbeat.campaigns.audience.open.stored_sheet import ISO, ColumnStyles, KnownStyles, Merge, StoredSheet

Cell = str | float | bool | date | datetime | time | timedelta
NumberedRow = tuple[int, list[Cell]]
_EPOCH, _FIRST_MARCH = datetime(1899, 12, 30), datetime(1900, 3, 1)  # noqa: DTZ001 - no zone
_DAY_S = 86_400
_DAYS_TO_1904 = 1_462


class FormatUse:
    """A format of a column that people must know of: how many cells it shows, the first lines and cell."""

    LINES_MAX = 5

    def __init__(self, column: int, shown: CellFormat) -> None:
        self.column = column
        self.code = shown.finding
        self.count = 0
        self.lines: list[int] = []
        self.example = ""

    def add(self, line: int, text: str) -> None:
        self.count += 1
        if len(self.lines) < self.LINES_MAX:
            self.lines.append(line)
            self.example = self.example or text


class SheetRows:
    """The rows of a sheet with their numbers, from 1. `first_column` is the column of their first cell.

    After the reading, `format_uses` has the formats that need a finding.
    """

    def __init__(self, sheet: CalamineSheet, stored: StoredSheet, merges: Sequence[Merge]) -> None:
        lost = stored.lost
        (_, left), (self._bottom, self._right) = sheet.start or (0, 0), sheet.end or (0, 0)
        self.first_column = min(left, lost.first_column)
        self.format_uses: list[FormatUse] = []
        self._sheet = sheet
        self._stored = stored
        self._merges = merges
        self._before = [""] * (left - self.first_column)
        self._after = [""] * (lost.last_column - self._right)

    def __iter__(self) -> Iterator[NumberedRow]:
        stored = self._stored
        rows: Iterator[NumberedRow] = enumerate(self._wide_rows(), 1)
        if stored.styles.by_column:
            rows = self._with_formats(rows)
        if stored.shown:
            rows = self._with_cells(rows, iter(stored.shown))
        if stored.lost.last_row >= 0:
            rows = self._with_cells(rows, stored.lost.by_row())
        return merged_rows(rows, self._merges, self.first_column) if self._merges else rows

    def _wide_rows(self) -> Iterator[list[Cell]]:
        """Give the rows that calamine finds, as wide and as many as the lost cells need."""
        before, after = self._before, self._after
        for row in self._sheet.iter_rows():
            yield [*before, *row, *after] if before or after else row
        width = max(self._right, self._stored.lost.last_column) - self.first_column + 1
        for _ in range(self._bottom, self._stored.lost.last_row):
            yield [""] * width

    def _with_formats(self, rows: Iterator[NumberedRow]) -> Iterator[NumberedRow]:
        """Show each number and date by the format of its cell."""
        columns = [
            _StyledColumn(column - self.first_column, styles, self._stored)
            for column, styles in self._stored.styles.by_column.items()
        ]
        for number, cells in rows:
            for column in columns:
                if (value := cells[column.at]) != "":
                    cells[column.at] = column.shown(number, value)
            yield number, cells
        self.format_uses.extend(use for column in columns for use in column.uses.values())

    def _with_cells(
        self, rows: Iterator[NumberedRow], texts: Iterator[tuple[int, int, str]]
    ) -> Iterator[NumberedRow]:
        """Put texts into their places. Both come in the order of rows."""
        by_row = groupby(texts, key=itemgetter(0))
        row, cells = next(by_row, (-1, iter(())))
        for number, values in rows:
            if number - 1 == row:
                for _, column, text in cells:
                    if 0 <= column - self.first_column < len(values):
                        values[column - self.first_column] = text
                row, cells = next(by_row, (-1, iter(())))
            yield number, values


class _StyledColumn:
    """A column with number formats. Rows are asked for in their order."""

    def __init__(self, at: int, styles: ColumnStyles, stored: StoredSheet) -> None:
        self.at = at
        self.uses: dict[str, FormatUse] = {}
        self._known: KnownStyles = stored.known_styles
        self._days = _DAYS_TO_1904 if stored.from_1904 else 0
        self._runs = zip([*styles.rows[1:], 1 << 60], styles.styles, strict=True)
        self._end, self._style = next(self._runs)
        self._format = self._known.format_of(self._style)

    def shown(self, number: int, value: Cell) -> str:
        while number > self._end:
            self._end, self._style = next(self._runs)
            self._format = self._known.format_of(self._style)
        shown = self._format
        if isinstance(value, str) and self._style & ISO:
            value = _iso(value)
        if isinstance(value, bool):
            return cell_text(value)
        if isinstance(value, str):
            return shown.show_text(value)
        text = self._number_text(shown, value)
        if shown.finding:
            self.uses.setdefault(shown.finding, FormatUse(self.at, shown)).add(number, text)
        return text

    def _number_text(self, shown: CellFormat, value: Cell) -> str:
        """Return what a spreadsheet shows. Where it shows ####, the cell is an error."""
        if isinstance(value, int | float):
            text = shown.show(float(value) + (self._days if shown.is_date else 0))
        elif shown.is_plain or shown.finding == "format_unknown":
            text = time_text(value)
        else:
            text = shown.show(_serial(value))
        return UNNAMED if text is None else text


def merged_rows(rows: Iterator[NumberedRow], merges: Sequence[Merge], first_column: int) -> Iterator[NumberedRow]:
    """Give a merged value to each row of its cells, in their first column.

    Whether the other columns have the same value, nobody can tell: they get the word of an error. A row that
    holds nothing of its own stays empty.
    """
    waiting = sorted(merges, key=lambda merge: merge.top, reverse=True)
    open_merges: list[tuple[Merge, Cell]] = []
    for number, cells in rows:
        while waiting and waiting[-1].top <= number - 1:
            merge = waiting.pop()
            left = merge.left - first_column
            value = cells[left] if merge.top == number - 1 and 0 <= left < len(cells) else ""
            open_merges.append((merge, value))
        if open_merges:
            open_merges = [(merge, value) for merge, value in open_merges if merge.bottom >= number - 1]
            _fill(cells, open_merges, number - 1, first_column)
        yield number, cells


def _fill(cells: list[Cell], merges: Sequence[tuple[Merge, Cell]], row: int, first_column: int) -> None:
    for merge, _ in merges:
        covered = range(max(merge.left - first_column + (row == merge.top), 0), merge.right - first_column + 1)
        for at in covered:
            if at < len(cells):
                cells[at] = ""
    if not any(cell != "" for cell in cells):
        return
    for merge, value in merges:
        if value != "":
            for column in range(merge.left, min(merge.right, len(cells) + first_column - 1) + 1):
                cells[column - first_column] = value if column == merge.left else MERGED


def cell_text(cell: Cell) -> str:
    """Return what a cell without a format shows."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).upper()
    return general(float(cell)) if isinstance(cell, int | float) else time_text(cell)


def _serial(value: date | time | timedelta) -> float:
    """Return the number of days that a date or a time is, as in a workbook that counts from 1900."""
    if isinstance(value, timedelta):
        return value.total_seconds() / _DAY_S
    if isinstance(value, time):
        return (value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) / _DAY_S
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)  # noqa: DTZ001
    days = (moment - _EPOCH).total_seconds() / _DAY_S
    return days if moment >= _FIRST_MARCH else days - 1


def _iso(text: str) -> Cell:
    """Return the date or time of a text; the text if it is none."""
    for kind in (datetime, time):
        try:
            found = kind.fromisoformat(text)
        except ValueError:
            continue
        return found.replace(tzinfo=None)
    return text
