"""A reader of the facts that XLS stores about a sheet beside its values, from the records of its stream.

A formula always stores a result there. Programs that do not know it store an empty text, as a spreadsheet
does for a formula whose text is empty. The two cannot be told apart, so both are formulas without a result.
Source: [MS-XLS] 2.4.28, 2.4.24, 2.4.127, 2.5.133 and the records named below; they have the same layout in
Excel 5 but for texts.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import IO, BinaryIO

import olefile

from drumbeat.campaigns.audience.open.cell_error import WITHOUT_RESULT
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.lost_cells import LostCells
from drumbeat.campaigns.audience.open.number_format.formats import BUILT_IN, GENERAL
from drumbeat.campaigns.audience.open.stored_sheet import PLAIN, KnownStyles, StoredSheet, Styles

_STREAMS = ("Workbook", "Book")  # Excel 5 uses the second name
_BEGIN, _END, _SHEET, _FORMAT, _STYLE, _FROM_1904 = 0x0809, 0x000A, 0x0085, 0x041E, 0x00E0, 0x0022
_FORMULA, _ERROR, _NUMBER, _ROUNDED, _TEXT, _ROW_OF_NUMBERS = 0x0006, 0x0205, 0x0203, 0x027E, 0x00FD, 0x00BD
_ROW, _COLUMNS, _FILTERED = 0x0208, 0x007D, 0x009B
_ONE_CELL = (_FORMULA, _NUMBER, _ROUNDED, _TEXT)
_EXCEL_97 = 0x0600
_HEAD, _PLACE, _OFFSET, _SHORT = Struct("<HH"), Struct("<HHH"), Struct("<I"), Struct("<H")
_NUMBER_BYTES = 6  # of each number in a row of them, after row and first column
_HIDDEN_ROW, _HIDDEN_COLUMN = 0x20, 0x01
_NO_NUMBER, _ERROR_RESULT, _EMPTY_RESULT = b"\xff\xff", 2, 3
_WORDS = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!",
    0x2A: "#N/A", 0x2B: "#GETTING_DATA",
}  # fmt: skip


def read_stored_in_xls(file: BinaryIO, sheet: str, name: str) -> StoredSheet:
    """Read what is stored about a sheet. Raise UnreadableAudience if it cannot be found."""
    file.seek(0)
    with olefile.OleFileIO(file) as container:
        stream = container.openstream(next(filter(container.exists, _STREAMS)))
        book = _Workbook(sheet)
        for kind, body in _records(stream):
            book.read(kind, body)
        if book.start is None:
            raise UnreadableAudience(
                "the records of the sheet cannot be found", where=name, remedy="save the workbook as XLSX"
            )
        stored = StoredSheet(LostCells(name), Styles(name), book.known, from_1904=book.from_1904)
        cells = _Cells(stored, book.numbers())
        stream.seek(book.start)
        for kind, body in _records(stream):
            cells.read(kind, body)
    return stored


def _records(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Give the records up to the end of this part of the stream."""
    while len(head := stream.read(_HEAD.size)) == _HEAD.size:
        kind, length = _HEAD.unpack(head)
        if kind == _END:
            return
        yield kind, stream.read(length)


def _short(body: bytes, at: int) -> int:
    (number,) = _SHORT.unpack_from(body, at)
    return int(number)


class _Workbook:
    """The records before those of the sheets: the place of one sheet, and the number formats."""

    def __init__(self, sheet: str) -> None:
        self.start: int | None = None
        self.from_1904 = False
        self.known = KnownStyles()
        self._sheet = sheet
        self._version = _EXCEL_97
        self._codes: dict[int, str] = {}
        self._styles: list[int] = []

    def read(self, kind: int, body: bytes) -> None:
        if kind == _BEGIN:
            self._version = _short(body, 0)
        elif kind == _SHEET and self.start is None and _names(body, self._sheet):
            self.start = int(_OFFSET.unpack_from(body)[0])
        elif kind == _FORMAT:
            self._codes[_short(body, 0)] = self._code(body[2:])
        elif kind == _STYLE:
            self._styles.append(_short(body, 2))
        elif kind == _FROM_1904:
            self.from_1904 = _short(body, 0) == 1

    def numbers(self) -> Sequence[int]:
        """Return the number of each style that cells name."""
        codes = (self._codes.get(number) or BUILT_IN.get(number, GENERAL) for number in self._styles)
        return [self.known.number_of(code) for code in codes]

    def _code(self, text: bytes) -> str:
        if self._version != _EXCEL_97:
            return text[1 : 1 + text[0]].decode("cp1252", "replace")
        length = _short(text, 0)
        return text[3 : 3 + 2 * length].decode("utf-16-le") if text[2] & 1 else text[3:].decode("latin-1")


class _Cells:
    """The records of one sheet. `numbers` has the number of each style that cells name."""

    def __init__(self, stored: StoredSheet, numbers: Sequence[int]) -> None:
        self._stored = stored
        self._numbers = numbers

    def read(self, kind: int, body: bytes) -> None:
        if kind in _ONE_CELL:
            self._style(*_PLACE.unpack_from(body))
        elif kind == _ROW_OF_NUMBERS:
            row, first, _ = _PLACE.unpack_from(body)
            for at in range((len(body) - _NUMBER_BYTES) // _NUMBER_BYTES):
                self._style(row, first + at, _short(body, 4 + at * _NUMBER_BYTES))
        elif kind == _ROW and body[12] & _HIDDEN_ROW:
            self._stored.hidden_rows.add(_short(body, 0), _short(body, 0))
        elif kind == _COLUMNS and body[8] & _HIDDEN_COLUMN:
            self._stored.hidden_columns.append((_short(body, 0), _short(body, 2)))
        elif kind == _FILTERED:
            self._stored.is_filtered = True
        if (word := _lost_word(kind, body)) is not None:
            row, column, _ = _PLACE.unpack_from(body)
            self._stored.lost.add(row, column, word)

    def _style(self, row: int, column: int, style: int) -> None:
        number = self._numbers[style] if style < len(self._numbers) else PLAIN
        self._stored.styles.add(row, column, number)


def _names(body: bytes, sheet: str) -> bool:
    length, text = body[6], body[7:]
    spellings = (text[1:].decode("utf-16-le", "replace"), text[1:].decode("latin-1"))
    return any(spelling[:length] == sheet for spelling in (*spellings, text.decode("cp1252", "replace")))


def _lost_word(kind: int, body: bytes) -> str | None:
    """Return the word of a lost cell; None for any other record."""
    if kind == _ERROR and body[7]:
        return _WORDS.get(body[6], "")
    if kind == _FORMULA and body[12:14] == _NO_NUMBER:
        if body[6] == _ERROR_RESULT:
            return _WORDS.get(body[8], "")
        return WITHOUT_RESULT if body[6] == _EMPTY_RESULT else None
    return None
