"""The lost cells of a sheet in XLS, from the records of its stream.

A formula always stores a result there. Programs that do not know it store an empty text, as a spreadsheet
does for a formula whose text is empty. The two cannot be told apart, so both are formulas without a result.
Source: [MS-XLS] 2.4.28, 2.4.24, 2.4.127 and 2.5.133; the records have the same layout in Excel 5.
"""

from collections.abc import Iterator
from struct import Struct
from typing import IO, BinaryIO

import olefile

from drumbeat.campaigns.audience.open.cell_error import WITHOUT_RESULT
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.lost_cells import LostCells

_STREAMS = ("Workbook", "Book")  # Excel 5 uses the second name
_FORMULA, _END, _SHEET, _ERROR = 0x0006, 0x000A, 0x0085, 0x0205
_HEAD, _PLACE, _OFFSET = Struct("<HH"), Struct("<HH"), Struct("<I")
_NO_NUMBER, _ERROR_RESULT, _EMPTY_RESULT = b"\xff\xff", 2, 3
_WORDS = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?", 0x24: "#NUM!",
    0x2A: "#N/A", 0x2B: "#GETTING_DATA",
}  # fmt: skip


def read_lost_in_xls(file: BinaryIO, sheet: str, name: str) -> LostCells:
    """Read the lost cells of a sheet. Raise UnreadableAudience if it cannot be found."""
    lost = LostCells(name)
    file.seek(0)
    with olefile.OleFileIO(file) as container:
        stream = container.openstream(next(filter(container.exists, _STREAMS)))
        starts = [
            _start_of(body) for kind, body in _records(stream) if kind == _SHEET and _names(body, sheet)
        ]
        if not starts:
            raise UnreadableAudience(
                "the records of the sheet cannot be found", where=name, remedy="save the workbook as XLSX"
            )
        stream.seek(starts[0])
        for kind, body in _records(stream):
            if (word := _lost_word(kind, body)) is not None:
                row, column = _PLACE.unpack_from(body)
                lost.add(row, column, word)
    return lost


def _records(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Give the records up to the end of this part of the stream."""
    while len(head := stream.read(_HEAD.size)) == _HEAD.size:
        kind, length = _HEAD.unpack(head)
        if kind == _END:
            return
        yield kind, stream.read(length)


def _start_of(body: bytes) -> int:
    (start,) = _OFFSET.unpack_from(body)
    return int(start)


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
