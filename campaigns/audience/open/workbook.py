"""A reader of one sheet of a workbook (XLSX, XLS, ODS), as people see it.

The first row with text is the header. A sheet that is no table is refused: a title above the header, merged
header cells, values under an empty header cell. Guessing would send the wrong texts.

Law: no cell is quietly empty. Errors and formulas without a stored result stand in the table as their words
(`cell_error`), and a row that holds nothing else is a row.
"""

import mmap
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from typing import BinaryIO, NamedTuple

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from drumbeat.campaigns.audience.open.cell_error import MERGED, WITHOUT_RESULT
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.formats import Packing, recognise
from drumbeat.campaigns.audience.open.header_row import (
    ROWS_LOOKED_AT,
    HeadRow,
    no_header_in,
    proposed_header_row,
    undecided,
)
from drumbeat.campaigns.audience.open.hidden_rows import HiddenRowsFound
from drumbeat.campaigns.audience.open.sheet_rows import NumberedRow, SheetRows, cell_text
from drumbeat.campaigns.audience.open.spool import BATCH_ROWS, Spool
from drumbeat.campaigns.audience.open.stored_in_ods import read_stored_in_ods
from drumbeat.campaigns.audience.open.stored_in_xls import read_stored_in_xls
from drumbeat.campaigns.audience.open.stored_in_xlsx import read_stored_in_xlsx
from drumbeat.campaigns.audience.open.stored_sheet import Merge, StoredSheet
from drumbeat.campaigns.finding import COLUMN_HIDDEN, Findings
from drumbeat.campaigns.options.sources import Format, HiddenRowsChoice

NAMES_SHOWN_MAX = 10
_NAME_IT = "name one with {sheet}"
_STORED_IN: Mapping[Format | Packing, Callable[[BinaryIO, str, str], StoredSheet]] = {
    Format.XLSX: read_stored_in_xlsx,
    Format.XLS: read_stored_in_xls,
    Format.ODS: read_stored_in_ods,
}


class SheetRequest(NamedTuple):
    """A request for one sheet of a workbook. `sheet` None asks for the only visible sheet with rows.

    `memory_bytes` is the limit of the process. `names_only` asks for the names of the sheets instead of the
    rows of one.
    """

    name: str
    sheet: str | None
    memory_bytes: int
    hidden_rows: HiddenRowsChoice | None = None
    names_only: bool = False
    header_row: int | None = None


class SheetFound(NamedTuple):
    """The facts about a sheet that was read, apart from its rows: the values of a `Spool`."""

    name: str
    form: str
    header: list[str]
    first: int
    findings: Findings


class _Header(NamedTuple):
    """The header of a sheet. `row` is its number, from 1. `named` has the indexes of the columns with a name,
    and `unnamed` those of all others.
    """

    row: int
    names: list[str]
    named: list[int]
    unnamed: list[int]


def spool_sheet(
    file: BinaryIO,
    sheet_name: str | None,
    spool: Spool,
    hidden_rows: HiddenRowsChoice | None = None,
    header_row: int | None = None,
) -> None:
    """Write the rows of a sheet to the spool. An UnreadableAudience names row, column and what to do."""
    file.seek(0)
    try:
        with CalamineWorkbook.from_filelike(file) as workbook:
            sheet = _chosen(workbook, sheet_name, spool.name)
            file.seek(0)
            stored = _STORED_IN[recognise(file, spool.name)](file, sheet.name, spool.name)
            _Sheet(sheet, stored, spool).read(hidden_rows, header_row)
    except PasswordError as error:
        raise _protected(spool.name) from error
    except CalamineError as error:
        raise _damaged(file, spool.name, error) from error


def filled_sheets(file: BinaryIO, name: str) -> dict[str, int]:
    """Return the visible sheets with rows, and how many they have, that of the names included. Raise
    UnreadableAudience for a protected or damaged workbook.
    """
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
    filled = list(_filled(workbook))
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


def _filled(workbook: CalamineWorkbook) -> dict[str, int]:
    sheets = map(workbook.get_sheet_by_name, _shown(workbook))
    return {sheet.name: sheet.height for sheet in sheets if sheet.start is not None}


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

    def __init__(self, sheet: CalamineSheet, stored: StoredSheet, spool: Spool) -> None:
        self._stored = stored
        self._spool = spool
        self._name = sheet.name
        self._merges = [
            *stored.merges,
            *(Merge(*first, *last) for first, last in sheet.merged_cell_ranges or ()),
        ]
        self._rows = SheetRows(sheet, stored, self._merges)

    def read(self, hidden_rows: HiddenRowsChoice | None, header_row: int | None) -> None:
        spool = self._spool
        spool.name = f"{spool.name}, sheet '{self._name}'"
        spool.form = f"sheet '{self._name}'"
        rows = iter(self._rows)
        head = list(islice(rows, max(ROWS_LOOKED_AT, header_row or 0)))
        header = self._header(head, header_row)
        rows = chain((row for row in head if row[0] > header.row), rows)
        spool.header, spool.first = header.names, header.row + 1
        hidden = HiddenRowsFound(self._stored, hidden_rows)
        while batch := list(islice(rows, BATCH_ROWS)):
            if self._stored.hidden_rows:
                hidden.leave_out(batch, header.named)
            if header.unnamed:
                self._refuse_unnamed(header, batch)
            spool.write_rows([[cell_text(row[at]) for at in header.named] for _, row in batch])
        hidden.require_choice(spool.name)
        self._note(header, hidden)

    def _note(self, header: _Header, hidden: HiddenRowsFound) -> None:
        """Note as findings what people must know of hidden cells and formats."""
        findings = self._spool.findings
        if hidden.count:
            findings.add(hidden.code, "", hidden.lines, count=hidden.count)
        names = dict(zip(header.named, header.names, strict=True))
        for use in self._rows.format_uses:
            if (column := names.get(use.column)) is not None:
                findings.add(use.code, column, use.lines, use.example, use.count)
        for first, last in self._stored.hidden_columns:
            for at, name in names.items():
                if first <= at + self._rows.first_column <= last:
                    findings.add(COLUMN_HIDDEN, name)

    def _header(self, head: Sequence[NumberedRow], chosen: int | None) -> _Header:
        if chosen is None:
            number, cells = self._first_filled(head)
        elif found := [row for row in head if row[0] == chosen and any(cell != "" for cell in row[1])]:
            number, cells = found[0]
        else:
            raise no_header_in("row", chosen, self._spool.name)
        self._refuse_merged(number, 0 if chosen is None else chosen)
        names = [cell_text(cell) for cell in cells]
        if WITHOUT_RESULT in names:
            letters = column_letters(self._rows.first_column + names.index(WITHOUT_RESULT))
            raise UnreadableAudience(
                f"row {number}, with the names of the columns, holds a formula without a stored result",
                where=f"{self._spool.name}, row {number}, column {letters}",
                remedy="open the workbook in a spreadsheet and save it as XLSX",
            )
        named = [at for at, name in enumerate(names) if name.strip()]
        unnamed = [at for at, name in enumerate(names) if not name.strip()]
        return _Header(number, [names[at] for at in named], named, unnamed)

    def _first_filled(self, head: Sequence[NumberedRow]) -> NumberedRow:
        """Return the first row with text. Raise HeaderRowUndecided if it seems to be a title."""
        shown: list[HeadRow] = [
            (number, ["" if cell == MERGED else cell_text(cell) for cell in cells]) for number, cells in head
        ]
        if (proposed := proposed_header_row(shown)) is not None:
            raise undecided("row", shown, proposed, self._spool.name)
        return next((number, row) for number, row in head if any(cell != "" for cell in row))

    def _refuse_merged(self, header_row: int, first: int) -> None:
        """Raise UnreadableAudience for merged cells from row `first` to the header, counted from 1."""
        for merge in self._merges:
            if merge.top < header_row and merge.bottom + 1 >= first:
                left, right = column_letters(merge.left), column_letters(merge.right)
                raise UnreadableAudience(
                    f"the cells {left}{merge.top + 1}:{right}{merge.bottom + 1} above the rows are merged",
                    where=f"{self._spool.name}, row {merge.top + 1}, column {left}",
                    remedy="delete titles and unmerge the header: it must have a name for each column",
                )

    def _refuse_unnamed(self, header: _Header, batch: Sequence[NumberedRow]) -> None:
        found = ((row, at) for row, cells in batch for at in header.unnamed if cells[at] not in ("", MERGED))
        if (first := next(found, None)) is None:
            return
        row, letters = first[0], column_letters(self._rows.first_column + first[1])
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


def _listed(names: Sequence[str]) -> str:
    shown = [f'"{name}"' for name in names[:NAMES_SHOWN_MAX]]
    more = len(names) - NAMES_SHOWN_MAX
    return ", ".join(chain(shown, [f"{more} more"] if more > 0 else []))
