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
Start = Callable[[Mapping[str, str]], object]
End = Callable[[], object]
Attach = Callable[[XMLParserType], object]
_Handler = Callable[..., object]


class _ByLocalName(dict[str, _Handler | None]):
    """The handlers of elements by their names in one part, with the prefixes that it uses."""

    def __init__(self, handlers: Mapping[str, _Handler]) -> None:
        self._handlers = handlers

    def __missing__(self, name: str) -> _Handler | None:
        return self.setdefault(name, self._handlers.get(name.rpartition(":")[2]))


def read_elements(
    part: IO[bytes],
    starts: Mapping[str, Start],
    name: str,
    ends: Mapping[str, End] | None = None,
    attach: Attach | None = None,
) -> None:
    """Call the handler of each element with its attributes, and at its end that of `ends`. Handlers have the
    local names of elements. `attach` may add others.

    Raise UnreadableAudience if the part is no XML.
    """
    parser = ParserCreate()
    parser.buffer_text = True
    started, ended = _ByLocalName(starts), _ByLocalName(ends or {})

    def begin(tag: str, attributes: Mapping[str, str]) -> None:
        if (handler := started[tag]) is not None:
            handler(attributes)

    def end(tag: str) -> None:
        if (handler := ended[tag]) is not None:
            handler()

    def refuse(*_: object) -> None:
        raise _damaged(name, "it has a document type")

    parser.StartElementHandler = begin
    parser.StartDoctypeDeclHandler = refuse
    if ends:
        parser.EndElementHandler = end
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
