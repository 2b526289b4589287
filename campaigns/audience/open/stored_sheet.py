"""The facts that a workbook stores about a sheet beside the values that python-calamine reads: lost cells,
number formats, shown texts, hidden rows and columns, merged cells.

All of it is read a second time, from the stored XML or the records, and kept small: a column with one format
takes a few bytes, whatever its length.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.lost_cells import LostCells
from drumbeat.campaigns.audience.open.number_format.formats import GENERAL, CellFormat

PLAIN = 0  # the number of a style that changes no cell
ISO = 1 << 20  # added to the number of a style: the cell holds a date as a text of ISO 8601


class KnownStyles:
    """The number formats of a workbook, by number. One that changes no cell is PLAIN."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._formats: list[CellFormat] = [CellFormat(GENERAL)]

    def number_of(self, code: str) -> int:
        """Return the number of a format."""
        if (number := self._numbers.get(code)) is None:
            compiled = CellFormat(code)
            number = PLAIN if compiled.is_plain else len(self._formats)
            self._numbers[code] = number
            if number != PLAIN:
                self._formats.append(compiled)
        return number

    def format_of(self, number: int) -> CellFormat:
        return self._formats[number & ~ISO]


class ColumnStyles:
    """The styles of the cells of one column: from which row on which style holds. Rows come in order."""

    def __init__(self) -> None:
        self.rows = array("L")
        self.styles = array("L")
        self.last_row = -1


class Styles:
    """The styles of a sheet by column, from 0. Only columns with a style other than PLAIN are in it."""

    def __init__(self, name: str) -> None:
        self.by_column: dict[int, ColumnStyles] = {}
        self._name = name

    def clear(self) -> None:
        self.by_column.clear()

    def add(self, row: int, column: int, style: int) -> None:
        """Note the style of a cell. Raise UnreadableAudience if a row above it was noted before."""
        if (known := self.by_column.get(column)) is None:
            if style == PLAIN:
                return
            known = self.by_column[column] = ColumnStyles()
        if row < known.last_row:
            raise UnreadableAudience(
                "the workbook is damaged: its rows are not in order",
                where=f"{self._name}, row {row + 1}",
                remedy="open it in a spreadsheet and save it as XLSX",
            )
        known.last_row = row
        if not known.styles or known.styles[-1] != style:
            known.rows.append(row)
            known.styles.append(style)


class ShownTexts:
    """The texts that cells show, by row, in the order of rows. A cell takes its text and twelve bytes."""

    def __init__(self) -> None:
        self._rows = array("L")
        self._columns = array("L")
        self._ends = array("Q")
        self._texts = bytearray()

    def add(self, row: int, column: int, text: str) -> None:
        self._rows.append(row)
        self._columns.append(column)
        self._texts += text.encode()
        self._ends.append(len(self._texts))

    def __bool__(self) -> bool:
        return bool(self._ends)

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        """Give row, column and text of each cell."""
        start = 0
        for row, column, end in zip(self._rows, self._columns, self._ends, strict=True):
            yield row, column, self._texts[start:end].decode()
            start = end


class HiddenRows:
    """The rows that a sheet does not show, from 0, as ranges in their order."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def add(self, first: int, last: int) -> None:
        if self._lasts and self._lasts[-1] + 1 == first:
            self._lasts[-1] = last
        else:
            self._firsts.append(first)
            self._lasts.append(last)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __contains__(self, row: int) -> bool:
        at = bisect_right(self._firsts, row) - 1
        return at >= 0 and row <= self._lasts[at]


@dataclass(frozen=True, slots=True)
class Merge:
    """A merged range, from 0, with its last row and column."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class StoredSheet:
    """The facts that are stored about one sheet. `hidden_columns` are ranges.
    `is_filtered` says that a filter hides the rows. `from_1904` says from which year serial numbers count.
    """

    lost: LostCells
    styles: Styles
    known_styles: KnownStyles = field(default_factory=KnownStyles)
    shown: ShownTexts = field(default_factory=ShownTexts)
    hidden_rows: HiddenRows = field(default_factory=HiddenRows)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    is_filtered: bool = False
    from_1904: bool = False
