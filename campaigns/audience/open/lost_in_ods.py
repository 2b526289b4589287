"""The lost cells of a sheet in ODS, from the stored XML of the workbook.

LibreOffice marks an error by its type and stores its name as the text. Other writers store 0, and the name as
the text.
"""

import zipfile
from collections.abc import Mapping
from typing import BinaryIO
from xml.parsers.expat import XMLParserType

from drumbeat.campaigns.audience.open.cell_error import WITHOUT_RESULT, cell_problem
from drumbeat.campaigns.audience.open.lost_cells import LostCells
from drumbeat.campaigns.audience.open.stored_xml import may_hold, read_elements

_CONTENT = "content.xml"
_SIGNS = (b"formula", b"error")
_CELLS = ("table-cell", "covered-table-cell")


def read_lost_in_ods(file: BinaryIO, sheet: str, name: str) -> LostCells:
    """Read the lost cells of a sheet."""
    file.seek(0)
    cells = _Cells(sheet, name)
    with zipfile.ZipFile(file) as archive:
        with archive.open(_CONTENT) as stream:
            if not may_hold(stream, _SIGNS):
                return cells.lost
        with archive.open(_CONTENT) as stream:
            read_elements(stream, cells.start, name, cells.attach)
    return cells.lost


class _Cells:
    """The reading of one table. Cells and rows may stand for many alike."""

    def __init__(self, sheet: str, name: str) -> None:
        self.lost = LostCells(name)
        self._sheet = sheet
        self._depth = 0  # of tables and comments, from the wanted table; they may stand in its cells
        self._row = self._rows = self._column = 0
        self._cell: Mapping[str, str] | None = None
        self._text: list[str] = []
        self._words: list[tuple[int, int, str]] = []  # first column, count and word of lost cells in a row

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
        elif tag == "table-row":
            self._rows = int(_of(attributes, "number-rows-repeated") or 1)
            self._column, self._words = 0, []
        elif tag in _CELLS:
            self._cell, self._text = attributes, []
        elif tag == "p":
            self._parser.CharacterDataHandler = self._text.append

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

    def _end_cell(self, cell: Mapping[str, str]) -> None:
        count = int(_of(cell, "number-columns-repeated") or 1)
        if (word := _lost_word(cell, "".join(self._text).strip())) is not None:
            self._words.append((self._column, count, word))
        self._column += count
        self._cell = None

    def _end_row(self) -> None:
        for row in range(self._row, self._row + self._rows if self._words else 0):
            for first, count, word in self._words:
                for column in range(first, first + count):
                    self.lost.add(row, column, word)
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


def _of(attributes: Mapping[str, str], name: str) -> str | None:
    """Return the value of an attribute, whatever its prefix."""
    return next((value for key, value in attributes.items() if key.rpartition(":")[2] == name), None)
