"""A reader of one sheet of a workbook (XLSX, XLS, ODS), as people see it.

The first row with text is the header. A sheet that is no table is refused: a title above the header, merged
header cells, values under an empty header cell. Guessing would send the wrong texts.

Law: no cell is quietly empty. Errors and formulas without a stored result stand in the table as their words
(`cell_error`), and a row that holds nothing else is a row.
"""

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import BinaryIO, NamedTuple

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from drumbeat.campaigns.audience.open.cell_error import WITHOUT_RESULT
from drumbeat.campaigns.audience.open.cell_text import float_text, time_text
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.formats import Packing, recognise
from drumbeat.campaigns.audience.open.lost_cells import LostCells
from drumbeat.campaigns.audience.open.lost_in_ods import read_lost_in_ods
from drumbeat.campaigns.audience.open.lost_in_xls import read_lost_in_xls
from drumbeat.campaigns.audience.open.lost_in_xlsx import read_lost_in_xlsx
from drumbeat.campaigns.audience.open.spool import BATCH_ROWS, Spool
from drumbeat.campaigns.options.sources import Format

Cell = str | float | bool | date | datetime | time | timedelta
NAMES_SHOWN_MAX = 10
_NAME_IT = "name one with {sheet}"
_LOST_IN: Mapping[Format | Packing, Callable[[BinaryIO, str, str], LostCells]] = {
    Format.XLSX: read_lost_in_xlsx,
    Format.XLS: read_lost_in_xls,
    Format.ODS: read_lost_in_ods,
}


class SheetRequest(NamedTuple):
    """A request for one sheet of a workbook. `sheet` None asks for the only visible sheet with rows.

    `memory_bytes` is the limit of the process. `names_only` asks for the names of the sheets instead of the
    rows of one.
    """

    name: str
    sheet: str | None
    memory_bytes: int
    names_only: bool = False


class SheetFound(NamedTuple):
    """The facts about a sheet that was read, apart from its rows: the values of a `Spool`."""

    name: str
    form: str
    header: list[str]
    first: int


class _Header(NamedTuple):
    """The header of a sheet. `row` is its number, from 1. `named` has the indexes of the columns with a name,
    and `unnamed` those of all others.
    """

    row: int
    names: list[str]
    named: list[int]
    unnamed: list[int]


def spool_sheet(file: BinaryIO, sheet_name: str | None, spool: Spool) -> None:
    """Write the rows of a sheet to the spool. An UnreadableAudience names row, column and what to do."""
    file.seek(0)
    try:
        with CalamineWorkbook.from_filelike(file) as workbook:
            sheet = _chosen(workbook, sheet_name, spool.name)
            file.seek(0)
            lost = _LOST_IN[recognise(file, spool.name)](file, sheet.name, spool.name)
            _Sheet(sheet, lost, spool).read()
    except PasswordError as error:
        raise _protected(spool.name) from error
    except CalamineError as error:
        raise _damaged(file, spool.name, error) from error


def filled_sheets(file: BinaryIO, name: str) -> list[str]:
    """Return the visible sheets with rows. Raise UnreadableAudience for a protected or damaged workbook."""
    file.seek(0)
    try:
        with CalamineWorkbook.from_filelike(file) as workbook:
            return _filled(workbook)
    except PasswordError as error:
        raise _protected(name) from error
    except CalamineError as error:
        raise _damaged(file, name, error) from error


def _damaged(file: BinaryIO, name: str, error: CalamineError) -> UnreadableAudience:
    if _is_encrypted(file):
        return _protected(name)
    return UnreadableAudience(
        f"the file is damaged, or is not a workbook: {error}", where=name, remedy="save it again as XLSX"
    )


def _is_encrypted(file: BinaryIO) -> bool:
    """Return whether an old container holds an encrypted workbook. The library does not know these."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find("EncryptedPackage".encode("utf-16-le")) >= 0


def _protected(name: str) -> UnreadableAudience:
    return UnreadableAudience(
        "the workbook is protected by a password", where=name, remedy="save it without a password"
    )


def _chosen(workbook: CalamineWorkbook, name: str | None, where: str) -> CalamineSheet:
    """Return the sheet with this name, or else the only visible one with rows."""
    if name is not None:
        if name not in workbook.sheet_names:
            raise UnreadableAudience(
                f'there is no sheet "{name}"', where=where, remedy=f"it has {_listed(workbook.sheet_names)}"
            )
        return _with_rows(workbook.get_sheet_by_name(name), where)
    shown = _shown(workbook)
    if len(shown) == 1:
        return _with_rows(workbook.get_sheet_by_name(shown[0]), where)
    filled = _filled(workbook)
    if len(filled) > 1:
        problem = f"the workbook has {len(filled)} sheets with rows: {{listed}}"
        raise UnreadableAudience(problem, where=where, remedy=_NAME_IT, values={"listed": _listed(filled)})
    if not filled:
        problem = "no visible sheet of the workbook has rows; pictures and charts are not read"
        remedy = f"put the rows into a sheet, or {_NAME_IT}"
        raise UnreadableAudience(problem, where=where, remedy=remedy, values={})
    return workbook.get_sheet_by_name(filled[0])


def _shown(workbook: CalamineWorkbook) -> list[str]:
    return [
        sheet.name
        for sheet in workbook.sheets_metadata
        if sheet.visible is SheetVisibleEnum.Visible and sheet.typ is SheetTypeEnum.WorkSheet
    ]


def _filled(workbook: CalamineWorkbook) -> list[str]:
    return [sheet for sheet in _shown(workbook) if workbook.get_sheet_by_name(sheet).start is not None]


def _with_rows(sheet: CalamineSheet, where: str) -> CalamineSheet:
    if sheet.start is None:
        raise UnreadableAudience(
            "the sheet has no rows; pictures and charts are not read",
            where=f"{where}, sheet '{sheet.name}'",
            remedy="put the rows into it, below a row with the names of the columns",
        )
    return sheet


class _Sheet:
    """The reading of one sheet that has rows."""

    def __init__(self, sheet: CalamineSheet, lost: LostCells, spool: Spool) -> None:
        self._sheet = sheet
        self._lost = lost
        self._spool = spool
        self._first_column = min((sheet.start or (0, 0))[1], lost.first_column)

    def read(self) -> None:
        spool = self._spool
        spool.name = f"{spool.name}, sheet '{self._sheet.name}'"
        spool.form = f"sheet '{self._sheet.name}'"
        rows = self._rows() if self._lost.last_row >= 0 else enumerate(self._sheet.iter_rows(), 1)
        header = self._header(rows)
        spool.header, spool.first = header.names, header.row + 1
        while batch := list(islice(rows, BATCH_ROWS)):
            if header.unnamed:
                self._refuse_unnamed(header, batch)
            spool.write_rows([[_text(row[at]) for at in header.named] for _, row in batch])

    def _rows(self) -> Iterator[tuple[int, list[Cell]]]:
        """Give all rows with their numbers, from 1, with the lost cells in their places."""
        lost = groupby(self._lost.by_row(), key=itemgetter(0))
        row, cells = next(lost, (-1, iter(())))
        for at, values in enumerate(self._wide_rows()):
            if at == row:
                for _, column, word in cells:
                    values[column - self._first_column] = word
                row, cells = next(lost, (-1, iter(())))
            yield at + 1, values

    def _wide_rows(self) -> Iterator[list[Cell]]:
        """Give the rows that calamine finds, as wide and as many as the lost cells need."""
        (_, left), (bottom, right) = self._sheet.start or (0, 0), self._sheet.end or (0, 0)
        before = [""] * (left - self._first_column)
        after = [""] * (self._lost.last_column - right)
        for row in self._sheet.iter_rows():
            yield [*before, *row, *after] if before or after else row
        width = max(right, self._lost.last_column) - self._first_column + 1
        for _ in range(bottom, self._lost.last_row):
            yield [""] * width

    def _header(self, rows: Iterator[tuple[int, list[Cell]]]) -> _Header:
        number, cells = next((number, row) for number, row in rows if any(cell != "" for cell in row))
        self._refuse_merged(number)
        names = [_text(cell) for cell in cells]
        if WITHOUT_RESULT in names:
            letters = column_letters(self._first_column + names.index(WITHOUT_RESULT))
            raise UnreadableAudience(
                f"row {number}, with the names of the columns, holds a formula without a stored result",
                where=f"{self._spool.name}, row {number}, column {letters}",
                remedy="open the workbook in a spreadsheet and save it as XLSX",
            )
        named = [at for at, name in enumerate(names) if name.strip()]
        unnamed = [at for at, name in enumerate(names) if not name.strip()]
        return _Header(number, [names[at] for at in named], named, unnamed)

    def _refuse_merged(self, header_row: int) -> None:
        for (top, left), (bottom, right) in self._sheet.merged_cell_ranges or ():
            if top < header_row:
                cells = f"{column_letters(left)}{top + 1}:{column_letters(right)}{bottom + 1}"
                raise UnreadableAudience(
                    f"the cells {cells} above the rows are merged",
                    where=f"{self._spool.name}, row {top + 1}, column {column_letters(left)}",
                    remedy="delete titles and unmerge the header: it must have a name for each column",
                )

    def _refuse_unnamed(self, header: _Header, batch: Sequence[tuple[int, list[Cell]]]) -> None:
        found = ((row, at) for row, cells in batch for at in header.unnamed if cells[at] != "")
        if (first := next(found, None)) is None:
            return
        row, letters = first[0], column_letters(self._first_column + first[1])
        if len(header.named) == 1:
            raise UnreadableAudience(
                f'row {header.row} holds only "{header.names[0]}", perhaps a title above the header',
                where=f"{self._spool.name}, row {header.row}",
                remedy="delete the rows above the names of the columns",
            )
        raise UnreadableAudience(
            f"the column {letters} has values, but no name in row {header.row}",
            where=f"{self._spool.name}, row {row}, column {letters}",
            remedy="name the column in the header, or delete it",
        )


def column_letters(index: int) -> str:
    """Return the name of a column in a spreadsheet: A for 0, AA for 26."""
    letters = ""
    while index >= 0:
        letters = chr(ord("A") + index % 26) + letters
        index = index // 26 - 1
    return letters


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell).upper()
    return float_text(float(cell)) if isinstance(cell, int | float) else time_text(cell)


def _listed(names: Sequence[str]) -> str:
    shown = [f'"{name}"' for name in names[:NAMES_SHOWN_MAX]]
    more = len(names) - NAMES_SHOWN_MAX
    return ", ".join(chain(shown, [f"{more} more"] if more > 0 else []))
