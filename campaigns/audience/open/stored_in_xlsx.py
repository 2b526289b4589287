"""What XLSX stores about a sheet beside its values, from the XML of its parts.

A cell is lost if it holds an error, or a formula without a result. Some writers store 0 for a result that
they do not know, and ask the spreadsheet to compute all formulas when it opens the workbook: there, 0 is no
result. An empty text is a result: the sheet shows nothing.
"""

import zipfile
from collections.abc import Mapping, Sequence
from posixpath import normpath
from typing import IO, BinaryIO

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.stored_sheet import PLAIN, StoredSheet
from drumbeat.campaigns.audience.open.stored_xml import may_hold, read_elements
from drumbeat.campaigns.audience.open.xlsx_cells import CellsReading
from drumbeat.campaigns.audience.open.xlsx_styles import XlsxStyles

_WORKBOOK, _RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
# A formula, with any prefix, the types of errors and of dates as texts, rows and columns that are not shown.
_SIGNS = (b"<f", b":f", b'"e"', b"'e'", b'"d"', b"'d'", b"hidden", b"zeroHeight", b'ht="0', b'width="0')
_STYLES_SOUGHT_MAX = 40  # to look for so many numbers takes as long as to read all elements
_TRUE = ("1", "true", "on")


def read_stored_in_xlsx(file: BinaryIO, sheet: str, name: str) -> StoredSheet:
    """Read what is stored about a sheet. Raise UnreadableAudience if it has no part in the workbook."""
    file.seek(0)
    with zipfile.ZipFile(file) as archive:
        members = {member.lower().replace("\\", "/"): member for member in archive.namelist()}
        book = _Workbook(sheet)
        for part, start in ((_WORKBOOK, book.start), (_RELATIONS, book.start_relation)):
            with archive.open(_member(members, part, name)) as stream:
                read_elements(stream, start, name)
        styles = XlsxStyles()
        if (stored := members.get(book.styles.lower())) is not None:
            with archive.open(stored) as stream:
                read_elements(stream, styles.start, name)
        target = _member(members, book.target, name)
        with archive.open(target) as stream:
            may_hold_more = _may_hold_more(stream, styles.numbers)
        cells = CellsReading(name, styles.numbers, computes_all=book.computes_all)
        if may_hold_more:
            with archive.open(target) as stream:
                read_elements(stream, cells.start, name, cells.attach)
                cells.finish()
    cells.stored.known_styles = styles.known
    cells.stored.from_1904 = book.from_1904
    return cells.stored


def _may_hold_more(part: IO[bytes], numbers: Sequence[int]) -> bool:
    """Return whether a sheet may hold more than plain cells."""
    formatted = [at for at, number in enumerate(numbers) if number != PLAIN]
    if 0 in formatted or len(formatted) > _STYLES_SOUGHT_MAX:  # a cell without a style has the first one
        return True
    styles = [f" s={quote}{at}{quote}".encode() for at in formatted for quote in ('"', "'")]
    return may_hold(part, (*_SIGNS, *styles))


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

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "sheet" and attributes.get("name") == self._sheet:
            self._relation = next(
                (value for key, value in attributes.items() if key.rpartition(":")[2] == "id"), None
            )
        elif tag == "calcPr":
            self.computes_all = attributes.get("fullCalcOnLoad") in _TRUE
        elif tag == "workbookPr":
            self.from_1904 = attributes.get("date1904") in _TRUE

    def start_relation(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag != "Relationship":
            return
        target = attributes.get("Target", "")
        part = normpath(target[1:] if target.startswith("/") else f"xl/{target}")
        if attributes.get("Id") == self._relation:
            self.target = part
        elif attributes.get("Type", "").endswith("/styles"):
            self.styles = part
