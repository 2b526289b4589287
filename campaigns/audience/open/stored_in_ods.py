"""A reader of the facts that ODS stores about a sheet beside its values, from the XML of the workbook.

A cell stores what it shows as its text, beside its value. LibreOffice marks an error by its type and stores
its name as the text. Other writers store 0, and the name as the text.
"""

import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import BinaryIO, NamedTuple
from xml.parsers.expat import XMLParserType

from drumbeat.campaigns.audience.open.cell_error import WITHOUT_RESULT, cell_problem
from drumbeat.campaigns.audience.open.lost_cells import LostCells
from drumbeat.campaigns.audience.open.number_format.numbers import (
    EXPONENT_DIGITS_MIN,
    PHONE_DIGITS_MIN,
    general,
    may_be_phone,
)
from drumbeat.campaigns.audience.open.stored_sheet import Merge, StoredSheet, Styles
from drumbeat.campaigns.audience.open.stored_xml import may_hold, read_elements

_CONTENT = "content.xml"
# Signs of anything but a table of plain texts.
_SIGNS = (b"formula", b"error", b"visibility", b"spanned", b":display", b"value=")
_HIDDEN = ("collapse", "filter")
_NUMBERS = ("float", "percentage", "currency")
_EXPONENT = re.compile(r"[0-9.,]+E[+-]?[0-9]+", re.IGNORECASE)
_SEPARATED = re.compile(r"[0-9][0-9.,'’\s]*")
_NO_DIGIT = re.compile(r"[^0-9]+")


def read_stored_in_ods(file: BinaryIO, sheet: str, name: str) -> StoredSheet:
    """Read what is stored about a sheet."""
    file.seek(0)
    cells = _Cells(sheet, name)
    with zipfile.ZipFile(file) as archive:
        with archive.open(_CONTENT) as stream:
            if not may_hold(stream, _SIGNS):
                return cells.stored
        with archive.open(_CONTENT) as stream:
            read_elements(stream, cells.starts, name, cells.ends, cells.attach)
    return cells.stored


class _Cells:
    """The reading of one table. Cells and rows may stand for many alike."""

    def __init__(self, sheet: str, name: str) -> None:
        self.stored = StoredSheet(LostCells(name), Styles(name))
        self._sheet = sheet
        self._depth = 0  # of tables and comments, from the wanted table; they may stand in its cells
        self._row = self._rows = self._column = self._columns = 0
        self._hidden_groups: list[bool] = []
        self._cell: Mapping[str, str] = {}
        self._names: dict[tuple[str, ...], _Names] = {}
        self._text: list[str] = []
        self._lost: list[tuple[int, int, str]] = []  # first column, count and word of lost cells in a row
        self._shown: list[tuple[int, int, str]] = []  # the same of texts

        self.starts = {
            "table": self._start_table,
            "annotation": self._start_annotation,
            "table-cell": self._start_cell,
            "covered-table-cell": self._start_cell,
            "p": self._start_text,
            "table-row": self._start_row,
            "table-column": self._start_column,
            "table-row-group": self._start_group,
            "table-column-group": self._start_group,
        }
        self.ends = {
            "table": self._end_inner,
            "annotation": self._end_inner,
            "table-cell": self._end_cell,
            "covered-table-cell": self._end_cell,
            "p": self._end_text,
            "table-row": self._end_row,
            "table-row-group": self._end_group,
            "table-column-group": self._end_group,
        }

    def attach(self, parser: XMLParserType) -> None:
        self._parser = parser

    def _start_table(self, attributes: Mapping[str, str]) -> None:
        self._depth += bool(self._depth) or _local(attributes).get("name") == self._sheet

    def _start_annotation(self, _: Mapping[str, str]) -> None:
        self._depth += bool(self._depth)  # the text of an inner table or comment is not the cell's

    def _end_inner(self) -> None:
        self._depth -= bool(self._depth)

    def _start_group(self, attributes: Mapping[str, str]) -> None:
        if self._depth == 1:
            self._hidden_groups.append(_local(attributes).get("display") == "false")

    def _end_group(self) -> None:
        if self._depth == 1:
            self._hidden_groups.pop()

    def _start_text(self, _: Mapping[str, str]) -> None:
        if self._depth == 1:
            self._parser.CharacterDataHandler = self._text.append

    def _end_text(self) -> None:
        if self._depth == 1:
            self._parser.CharacterDataHandler = None

    def _start_cell(self, attributes: Mapping[str, str]) -> None:
        if self._depth == 1:
            self._cell, self._text = attributes, []

    def _start_row(self, attributes: Mapping[str, str]) -> None:
        if self._depth != 1:
            return
        row = _local(attributes)
        self._rows = int(row.get("number-rows-repeated", 1))
        self._column, self._lost, self._shown = 0, [], []
        visibility = row.get("visibility")
        if visibility in _HIDDEN or any(self._hidden_groups):
            self.stored.hidden_rows.add(self._row, self._row + self._rows - 1)
            self.stored.is_filtered |= visibility == "filter"

    def _start_column(self, attributes: Mapping[str, str]) -> None:
        if self._depth != 1:
            return
        column = _local(attributes)
        count = int(column.get("number-columns-repeated", 1))
        if column.get("visibility") in _HIDDEN or any(self._hidden_groups):
            self.stored.hidden_columns.append((self._columns, self._columns + count - 1))
        self._columns += count

    def _end_cell(self) -> None:
        if self._depth != 1:
            return
        cell = self._cell
        names = self._names.get(shape := tuple(cell)) or self._names.setdefault(shape, _names_in(shape))
        count = int(cell[names.repeated]) if names.repeated else 1
        kind = cell.get(names.kind)
        may_be_lost = names.formula or "error" in cell.values()
        if may_be_lost or kind not in (None, "string"):
            text = "".join(self._text).strip()
            if may_be_lost and (word := _lost_word(cell, names, text)) is not None:
                self._lost.append((self._column, count, word))
            elif kind is not None and (shown := _shown_text(kind, cell, names, text)) is not None:
                self._shown.append((self._column, count, shown))
        if names.rows or names.columns:
            self._add_merge(int(cell.get(names.rows, 1)), int(cell.get(names.columns, 1)))
        self._column += count

    def _add_merge(self, rows: int, columns: int) -> None:
        if rows > 1 or columns > 1:
            bottom, right = self._row + rows - 1, self._column + columns - 1
            self.stored.merges.append(Merge(self._row, self._column, bottom, right))

    def _end_row(self) -> None:
        if self._depth != 1:
            return
        for row in range(self._row, self._row + self._rows if self._lost or self._shown else 0):
            for first, count, word in self._lost:
                for column in range(first, first + count):
                    self.stored.lost.add(row, column, word)
            for first, count, text in self._shown:
                for column in range(first, first + count):
                    self.stored.shown.add(row, column, text)
        self._row += self._rows


class _Names(NamedTuple):
    """The names of a cell's attributes, with the prefixes that the writer chose. Empty: it has none.

    LibreOffice repeats the kind in a space of its own, and only there it says that it is an error.
    """

    kind: str
    kinds: Sequence[str]
    value: str
    currency: str
    formula: str
    repeated: str
    rows: str
    columns: str


def _names_in(shape: Sequence[str]) -> _Names:
    """Return which of these names, with any prefix, are those of the table."""
    local = {name.rpartition(":")[2]: name for name in reversed(shape)}
    wanted = ("value", "currency", "formula", "number-columns-repeated")
    spanned = ("number-rows-spanned", "number-columns-spanned")
    kinds = [name for name in shape if name.endswith(":value-type")]
    return _Names(local.get("value-type", ""), kinds, *(local.get(name, "") for name in (*wanted, *spanned)))


def _lost_word(cell: Mapping[str, str], names: _Names, text: str) -> str | None:
    """Return the word of a lost cell; None for any other."""
    if any(cell[name] == "error" for name in names.kinds):
        return text or WITHOUT_RESULT
    if not names.formula:
        return None
    if cell_problem(text) is not None:
        return text
    return None if names.kinds else WITHOUT_RESULT


def _shown_text(kind: str, cell: Mapping[str, str], names: _Names, text: str) -> str | None:
    """Return what a cell that is no text shows; None if that is its value, or if it holds a text."""
    if kind == "string":
        return None
    if kind not in _NUMBERS or (text and not text[-1].isdigit()):
        return text or None
    return _shown_number(kind, _number(cell.get(names.value)), text, cell.get(names.currency, ""))


def _shown_number(kind: str, value: float | None, text: str, currency: str) -> str | None:
    """Return what a number shows. A whole number that may be a phone keeps all digits and gets no other sign.
    Programs that do not know the format store the bare number as the text, or none.
    """
    if value is None:
        return text or None
    if text in ("", repr(value), f"{value:.15g}"):
        if kind == "percentage":
            return f"{general(value * 100)}%"
        return f"{general(value)} {currency}".strip() if kind == "currency" else None
    if _EXPONENT.fullmatch(text) and may_be_phone(value, EXPONENT_DIGITS_MIN):
        return None
    if _SEPARATED.fullmatch(text) and may_be_phone(value, PHONE_DIGITS_MIN):
        return None if _NO_DIGIT.sub("", text).startswith(str(int(value))) else text
    return text


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _local(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes by their names without prefixes; of two with one name, the first."""
    return {name.rpartition(":")[2]: attributes[name] for name in reversed(list(attributes))}
