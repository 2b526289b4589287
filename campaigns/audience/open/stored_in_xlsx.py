"""A reader of the facts that XLSX stores about a sheet beside its values, from the XML of its parts.

A cell is lost if it holds an error, or a formula without a result. Some writers store 0 for a result that
they do not know, and ask the spreadsheet to compute all formulas when it opens the workbook: there, 0 is no
result. An empty text is a result: the sheet shows nothing.
"""

import zipfile
from collections.abc import Mapping
from posixpath import normpath
from typing import BinaryIO

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.stored_sheet import StoredSheet
from drumbeat.campaigns.audience.open.stored_xml import may_hold, read_elements
from drumbeat.campaigns.audience.open.xlsx_cells import TRUE, CellsReading, read_plain_cells
from drumbeat.campaigns.audience.open.xlsx_styles import XlsxStyles

_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
# A formula, with any prefix, the types of errors and of dates as texts, rows and columns that are not shown,
# and attributes in single quotes.
_SIGNS = (b"<f", b":f", b'"e"', b'"d"', b"='", b"hidden", b"zeroHeight", b' ht="0', b' width="0')


def read_stored_in_xlsx(file: BinaryIO, sheet: str, name: str) -> StoredSheet:
    """Read what is stored about a sheet. Raise UnreadableAudience if it has no part in the workbook."""
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        members = {member.lower().replace("\\", "/"): member for member in archive.namelist()}
        book = _Workbook(sheet)
        for part in (_WORKBOOK, _RELATIONS):
            with archive.open(_member(members, part, name)) as stream:
                read_elements(stream, book.starts, name)
        styles = XlsxStyles()
        if (stored := members.get(book.styles.lower())) is not None:
            with archive.open(stored) as stream:
                read_elements(stream, styles.starts, name)
        target = _member(members, book.target, name)
        cells = CellsReading(name, styles.numbers, computes_all=book.computes_all)
        with archive.open(target) as stream:
            is_plain = not may_hold(stream, _SIGNS)
        with archive.open(target) as stream:
            is_read = is_plain and read_plain_cells(stream, styles.numbers, cells.stored.styles)
        if not is_read:
            cells.stored.styles.clear()
            with archive.open(target) as stream:
                read_elements(stream, cells.starts, name, attach=cells.attach)
                cells.finish()
    cells.stored.known_styles = styles.known
    cells.stored.from_1904 = book.from_1904
    return cells.stored


def _member(members: Mapping[str, str], part: str, name: str) -> str:
    if (found := members.get(part.lower())) is None:
        raise UnreadableAudience(
            f"the workbook is damaged: it has no part {part or 'for the sheet'}",
            where=name,
            remedy="save it again as XLSX",
        )
    return found


class _Workbook:
    """The places of one sheet and of the styles. With `computes_all`, results may be placeholders."""

    def __init__(self, sheet: str) -> None:
        self.target = self.styles = ""
        self.computes_all = self.from_1904 = False
        self._sheet = sheet
        self._relation: str | None = None

        self.starts = {
            "sheet": self._start_sheet,
            "calcPr": self._start_calculation,
            "workbookPr": self._start_properties,
            "Relationship": self._start_relation,
        }

    def _start_sheet(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("name") == self._sheet:
            self._relation = next(
                (value for key, value in attributes.items() if key.rpartition(":")[2] == "id"), None
            )

    def _start_calculation(self, attributes: Mapping[str, str]) -> None:
        self.computes_all = attributes.get("fullCalcOnLoad") in TRUE

    def _start_properties(self, attributes: Mapping[str, str]) -> None:
        self.from_1904 = attributes.get("date1904") in TRUE

    def _start_relation(self, attributes: Mapping[str, str]) -> None:
        target = attributes.get("Target", "")
        part = normpath(target[1:] if target.startswith("/") else f"xl/{target}")
        if attributes.get("Id") == self._relation:
            self.target = part
        elif attributes.get("Type", "").endswith("/styles"):
            self.styles = part
