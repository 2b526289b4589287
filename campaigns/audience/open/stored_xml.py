"""A reader of a workbook's XML parts, element by element, in constant memory.

Names are given without their prefix, because writers choose prefixes freely. A part with a document type is
refused: workbooks have none, and entities can grow without limit.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import IO
from xml.parsers.expat import ExpatError, ParserCreate, XMLParserType

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience

CHUNK_BYTES = 1 << 20
SIGN_BYTES_MAX = 16  # a sign of this length may lie across two chunks
_NOT_ASCII = b"\x00"  # UTF-16, in which no sign is found
Start = Callable[[str, Mapping[str, str]], object]
Attach = Callable[[XMLParserType], object]


def read_elements(part: IO[bytes], start: Start, name: str, attach: Attach | None = None) -> None:
    """Call `start` with the local name and the attributes of each element. `attach` may add other handlers.

    Raise UnreadableAudience if the part is no XML.
    """
    parser = ParserCreate()
    parser.buffer_text = True
    local: dict[str, str] = {}

    def begin(tag: str, attributes: Mapping[str, str]) -> None:
        if (short := local.get(tag)) is None:
            short = local[tag] = tag.rpartition(":")[2]
        start(short, attributes)

    def refuse(*_: object) -> None:
        raise _damaged(name, "it has a document type")

    parser.StartElementHandler = begin
    parser.StartDoctypeDeclHandler = refuse
    if attach is not None:
        attach(parser)
    try:
        parser.ParseFile(part)
    except ExpatError as error:
        raise _damaged(name, str(error)) from error


def may_hold(part: IO[bytes], signs: Sequence[bytes]) -> bool:
    """Return whether a part may hold one of these texts. Reading all elements takes ten times as long."""
    before = b""
    while chunk := part.read(CHUNK_BYTES):
        text = before + chunk
        if _NOT_ASCII in text or any(sign in text for sign in signs):
            return True
        before = text[-SIGN_BYTES_MAX:]
    return False


def _damaged(name: str, problem: str) -> UnreadableAudience:
    return UnreadableAudience(
        f"the workbook is damaged: {problem}", where=name, remedy="save it again as XLSX"
    )
