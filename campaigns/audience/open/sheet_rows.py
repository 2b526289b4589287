"""The rows of a sheet as people see them: values by their formats, lost cells by their words, a merged value
in each of its rows.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import groupby, islice
from operator import itemgetter

from python_calamine import CalamineSheet

from drumbeat.campaigns.audience.open.cell_error import MERGED, UNNAMED
from drumbeat.campaigns.audience.open.cell_text import time_text
from drumbeat.campaigns.audience.open.number_format.numbers import general
from drumbeat.campaigns.audience.open.spool import BATCH_ROWS
from drumbeat.campaigns.audience.open.stored_sheet import ISO, ColumnStyles, Merge, StoredSheet

Cell = str | float | bool | date | datetime | time | timedelta
NumberedRow = tuple[int, list[Cell]]
_EPOCH, _FIRST_MARCH = datetime(1899, 12, 30), datetime(1900, 3, 1)
_DAY_S = 86_400
_DAYS_TO_1904 = 1_462


class FormatUse:
    """A format of a column that people must know of: how many cells it shows, the first lines and cell."""

    LINES_MAX = 5

    def __init__(self, column: int, code: str) -> None:
        self.column = column
        self.code = code
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
        while batch := list(islice(rows, BATCH_ROWS)):
            for column in columns:
                column.show(batch)
            yield from batch
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
        self.uses: dict[str, FormatUse] = {}
        self._at = at
        self._stored = stored
        self._runs = zip([*styles.rows[1:], 1 << 60], styles.styles, strict=True)
        self._styles: dict[int, _Style] = {}
        self._end = -1

    def show(self, batch: Sequence[NumberedRow]) -> None:
        """Put what the cells of this column show into the rows."""
        at, end, style = self._at, -1, self._style_at(batch[0][0])
        for number, cells in batch:
            if number > end:
                style, end = self._style_at(number), self._end
            if (value := cells[at]) == "":
                continue
            cells[at] = text = style.text_of(value)
            if style.finding and not isinstance(value, str):
                use = self.uses.setdefault(style.finding, FormatUse(at, style.finding))
                use.add(number, text)

    def _style_at(self, number: int) -> "_Style":
        """Return the style of a row, from 1. `_end` is then the last row that has it."""
        while number > self._end:
            self._end, self._number = next(self._runs)
        if (style := self._styles.get(self._number)) is None:
            style = self._styles[self._number] = _Style(self._number, self._stored)
        return style


class _Style:
    """A style of cells, for one column. `text_of` returns what a cell shows, in a tenth of a microsecond if
    its value comes again: dates, percentages and prices do.
    """

    CACHED_VALUES = 1 << 13

    def __init__(self, number: int, stored: StoredSheet) -> None:
        self._format = stored.known_styles.format_of(number)
        self._is_iso = bool(number & ISO)
        self._days = _DAYS_TO_1904 if stored.from_1904 and self._format.is_date else 0
        self.finding = self._format.finding
        self.text_of = lru_cache(self.CACHED_VALUES, typed=True)(self._text_of)

    def _text_of(self, value: Cell) -> str:
        """Return what a spreadsheet shows. Where it shows ####, the cell is an error."""
        if isinstance(value, str) and self._is_iso:
            value = _iso(value)
        if isinstance(value, bool):
            return cell_text(value)
        if isinstance(value, str):
            return self._format.show_text(value)
        if isinstance(value, int | float):
            text = self._format.show(float(value) + self._days)
        elif self._format.is_plain or self.finding == "format_unknown":
            text = time_text(value)
        else:
            text = self._format.show(_serial(value))
        return UNNAMED if text is None else text


def merged_rows(
    rows: Iterator[NumberedRow], merges: Sequence[Merge], first_column: int
) -> Iterator[NumberedRow]:
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
        covered = range(
            max(merge.left - first_column + (row == merge.top), 0), merge.right - first_column + 1
        )
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
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
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
