"""The lost cells of a sheet in XLSX, from the stored XML of the sheet.

A cell is lost if it holds an error, or a formula without a result. Some writers store 0 for a result that
they do not know, and ask the spreadsheet to compute all formulas when it opens the workbook: there, 0 is no
result. An empty text is a result: the sheet shows nothing.
"""

import re
import zipfile
from collections.abc import Mapping
from posixpath import normpath
from typing import IO, BinaryIO
from xml.parsers.expat import XMLParserType

from drumbeat.campaigns.audience.open.cell_error import WITHOUT_RESULT
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.lost_cells import LostCells
from drumbeat.campaigns.audience.open.stored_xml import may_hold, read_elements

_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
# A formula, with any prefix, or the type of an error.
_SIGNS = (b"<f", b":f", b'"e"', b"'e'")
_TRUE = ("1", "true")


def read_lost_in_xlsx(file: BinaryIO, sheet: str, name: str) -> LostCells:
    """Read the lost cells of a sheet. Raise UnreadableAudience if the sheet has no part in the workbook."""
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        members = {member.lower().replace("\\", "/"): member for member in archive.namelist()}
        book = _Workbook(sheet)
        for part, start in ((_WORKBOOK, book.start), (_RELATIONS, book.start_relation)):
            with archive.open(_member(members, part, name)) as stream:
                read_elements(stream, start, name)
        target = _member(members, book.target, name)
        with archive.open(target) as stream:
            if not may_hold(stream, _SIGNS):
                return LostCells(name)
        with archive.open(target) as stream:
            return _read_sheet(stream, name, computes_all=book.computes_all)


def _member(members: Mapping[str, str], part: str, name: str) -> str:
    if (found := members.get(part.lower())) is None:
        raise UnreadableAudience(
            f"the workbook is damaged: it has no part {part or 'for the sheet'}",
            where=name,
            remedy="save it again as XLSX",
        )
    return found


class _Workbook:
    """The place of one sheet. `target` is its part. With `computes_all`, results may be placeholders."""

    def __init__(self, sheet: str) -> None:
        self.target = ""
        self.computes_all = False
        self._sheet = sheet
        self._relation: str | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "sheet" and attributes.get("name") == self._sheet:
            self._relation = next(
                (value for key, value in attributes.items() if key.rpartition(":")[2] == "id"), None
            )
        elif tag == "calcPr":
            self.computes_all = attributes.get("fullCalcOnLoad") in _TRUE

    def start_relation(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "Relationship" and attributes.get("Id") == self._relation:
            target = attributes.get("Target", "")
            self.target = normpath(target[1:] if target.startswith("/") else f"xl/{target}")


def _read_sheet(stream: IO[bytes], name: str, *, computes_all: bool) -> LostCells:
    cells = _Cells(name, computes_all=computes_all)
    read_elements(stream, cells.start, name, cells.attach)
    cells.finish()
    return cells.lost


class _Cells:
    """The reading of the cells of a sheet. Rows and columns without a reference follow the previous one."""

    def __init__(self, name: str, *, computes_all: bool) -> None:
        self.lost = LostCells(name)
        self._no_results = ("", "0") if computes_all else ("",)
        self._row = self._column = -1
        self._kind = ""
        self._range: str | None = None  # the cells of a formula; empty: its own cell; None: it is a value
        self._value: list[str] | None = None

    def attach(self, parser: XMLParserType) -> None:
        self._parser = parser

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "c":
            self.finish()
            self._kind, self._range, self._value = attributes.get("t", "n"), None, None
            self._place(attributes.get("r"))
        elif tag == "f":
            self._range = attributes.get("ref", "") if attributes.get("t") == "array" else ""
        elif tag == "v":
            if self._range is not None or self._kind == "e":
                self._value = []
                self._parser.CharacterDataHandler = self._value.append
        elif tag == "is":
            self._value = [tag]
        elif tag == "row":
            self.finish()
            self._row = int(attributes["r"]) - 1 if "r" in attributes else self._row + 1
            self._column = -1

    def _place(self, reference: str | None) -> None:
        if reference is None:
            self._column += 1
        else:
            self._row, self._column = _place_of(reference)

    def finish(self) -> None:
        """Note the cell that ends here, if it is lost."""
        self._parser.CharacterDataHandler = None
        text = "".join(self._value or ()).strip()
        if self._kind == "e":
            self.lost.add(self._row, self._column, text)
        elif self._range is not None and self._has_no_result(text):
            self._add_formula(self._range)
        self._kind, self._range, self._value = "", None, None

    def _has_no_result(self, text: str) -> bool:
        if self._kind == "str":
            return self._value is None
        return text == "" or (self._kind == "n" and text in self._no_results)

    def _add_formula(self, cells: str) -> None:
        first, _, last = cells.partition(":")
        top, left = _place_of(first) if last else (self._row, self._column)
        bottom, right = _place_of(last) if last else (self._row, self._column)
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                self.lost.add(row, column, WITHOUT_RESULT)


def _place_of(reference: str) -> tuple[int, int]:
    """Return row and column from 0: C4 is (3, 2)."""
    if (found := _REFERENCE.fullmatch(reference)) is None:
        return 0, 0
    column = 0
    for letter in found[1].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(found[2]) - 1, column - 1
