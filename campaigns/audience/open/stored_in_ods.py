"""What ODS stores about a sheet beside its values, from the XML of the workbook.

A cell stores what it shows as its text, beside its value. LibreOffice marks an error by its type and stores
its name as the text. Other writers store 0, and the name as the text.
"""

import re
import zipfile
from collections.abc import Mapping
from typing import BinaryIO
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
_CELLS = ("table-cell", "covered-table-cell")
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
            read_elements(stream, cells.start, name, cells.attach)
    return cells.stored


class _Cells:
    """The reading of one table. Cells and rows may stand for many alike."""

    def __init__(self, sheet: str, name: str) -> None:
        self.stored = StoredSheet(LostCells(name), Styles(name))
        self._sheet = sheet
        self._depth = 0  # of tables and comments, from the wanted table; they may stand in its cells
        self._row = self._rows = self._column = self._columns = 0
        self._hidden_groups: list[bool] = []
        self._cell: Mapping[str, str] | None = None
        self._text: list[str] = []
        self._lost: list[tuple[int, int, str]] = []  # first column, count and word of lost cells in a row
        self._shown: list[tuple[int, int, str]] = []  # the same of texts

    def attach(self, parser: XMLParserType) -> None:
        self._parser = parser
        parser.EndElementHandler = lambda tag: self.end(tag.rpartition(":")[2])

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "table":
            self._depth += bool(self._depth) or _of(attributes, "name") == self._sheet
        elif tag == "annotation":
            self._depth += bool(self._depth)  # the text of an inner table or comment is not the cell's
        elif self._depth != 1:
            return
        elif tag in _CELLS:
            self._cell, self._text = attributes, []
        elif tag == "p":
            self._parser.CharacterDataHandler = self._text.append
        elif tag == "table-row":
            self._start_row(attributes)
        elif tag == "table-column":
            self._start_column(attributes)
        elif tag in ("table-row-group", "table-column-group"):
            self._hidden_groups.append(_of(attributes, "display") == "false")

    def _start_row(self, attributes: Mapping[str, str]) -> None:
        self._rows = int(_of(attributes, "number-rows-repeated") or 1)
        self._column, self._lost, self._shown = 0, [], []
        visibility = _of(attributes, "visibility")
        if visibility in _HIDDEN or any(self._hidden_groups):
            self.stored.hidden_rows.add(self._row, self._row + self._rows - 1)
            self.stored.is_filtered |= visibility == "filter"

    def _start_column(self, attributes: Mapping[str, str]) -> None:
        count = int(_of(attributes, "number-columns-repeated") or 1)
        if _of(attributes, "visibility") in _HIDDEN or any(self._hidden_groups):
            self.stored.hidden_columns.append((self._columns, self._columns + count - 1))
        self._columns += count

    def end(self, tag: str) -> None:
        if tag in ("table", "annotation"):
            self._depth -= bool(self._depth)
        elif self._depth != 1:
            return
        elif tag == "p":
            self._parser.CharacterDataHandler = None
        elif tag in _CELLS and self._cell is not None:
            self._end_cell(self._cell)
        elif tag == "table-row":
            self._end_row()
        elif tag in ("table-row-group", "table-column-group"):
            self._hidden_groups.pop()

    def _end_cell(self, cell: Mapping[str, str]) -> None:
        count = int(_of(cell, "number-columns-repeated") or 1)
        text = "".join(self._text).strip()
        if len(cell) > 1 or text:
            if (word := _lost_word(cell, text)) is not None:
                self._lost.append((self._column, count, word))
            elif (shown := _shown_text(cell, text)) is not None:
                self._shown.append((self._column, count, shown))
            self._add_merge(cell)
        self._column += count
        self._cell = None

    def _add_merge(self, cell: Mapping[str, str]) -> None:
        rows = int(_of(cell, "number-rows-spanned") or 1)
        columns = int(_of(cell, "number-columns-spanned") or 1)
        if rows > 1 or columns > 1:
            bottom, right = self._row + rows - 1, self._column + columns - 1
            self.stored.merges.append(Merge(self._row, self._column, bottom, right))

    def _end_row(self) -> None:
        for row in range(self._row, self._row + self._rows if self._lost or self._shown else 0):
            for first, count, word in self._lost:
                for column in range(first, first + count):
                    self.stored.lost.add(row, column, word)
            for first, count, text in self._shown:
                for column in range(first, first + count):
                    self.stored.shown.add(row, column, text)
        self._row += self._rows


def _lost_word(cell: Mapping[str, str], text: str) -> str | None:
    """Return the word of a lost cell; None for any other."""
    kinds = {key.rpartition(":")[0]: value for key, value in cell.items() if key.endswith(":value-type")}
    if "error" in kinds.values():
        return text or WITHOUT_RESULT
    if _of(cell, "formula") is None:
        return None
    if cell_problem(text) is not None:
        return text
    return None if kinds else WITHOUT_RESULT


def _shown_text(cell: Mapping[str, str], text: str) -> str | None:
    """Return what a cell that is no text shows; None if that is its value, or if it holds a text."""
    kind = _of(cell, "value-type")
    if kind is None or kind == "string":
        return None
    if kind not in _NUMBERS:
        return text or None
    return _shown_number(kind, _number(_of(cell, "value")), text, _of(cell, "currency") or "")


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


def _of(attributes: Mapping[str, str], name: str) -> str | None:
    """Return the value of an attribute, whatever its prefix."""
    return next((value for key, value in attributes.items() if key.rpartition(":")[2] == name), None)
