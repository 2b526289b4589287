"""The multipart forms, as an upload sends them."""

from email.message import Message
from email.parser import BytesHeaderParser
from typing import NamedTuple

from drumbeat.emulator.errors import Refused

PARTS_LIMIT = 20


class Part(NamedTuple):
    """One field of a form. `content_type` is empty for a plain one."""

    content: bytes
    content_type: str
    filename: str | None


def read_form(content_type: bytes, body: bytes) -> dict[str, Part]:
    """Return the parts of a form by name. `Refused` (100) for a body that is no form."""
    boundary = _header_value(content_type).get_param("boundary")
    if not content_type.lower().startswith(b"multipart/form-data") or not isinstance(boundary, str):
        raise Refused(100, "the body is a form of type multipart/form-data")
    marker = b"\r\n--" + boundary.encode("ascii", "replace")
    pieces = (b"\r\n" + body).split(marker, PARTS_LIMIT + 2)
    if len(pieces) < 3 or not pieces[-1].startswith(b"--"):
        raise Refused(100, "the form does not end with its boundary, or has too many parts")
    return dict(_read_part(piece) for piece in pieces[1:-1])


def _read_part(piece: bytes) -> tuple[str, Part]:
    head, blank, content = piece.partition(b"\r\n\r\n")
    if not blank:
        raise Refused(100, "a part of the form has no head")
    headers = BytesHeaderParser().parsebytes(head.lstrip(b"\r\n") + b"\r\n\r\n")
    name = headers.get_param("name", header="content-disposition")
    if not isinstance(name, str):
        raise Refused(100, "a part of the form has no name")
    content_type = headers.get_content_type() if "content-type" in headers else ""
    return name, Part(content, content_type, headers.get_filename())


def _header_value(content_type: bytes) -> Message:
    return BytesHeaderParser().parsebytes(b"Content-Type: " + content_type + b"\r\n\r\n")
