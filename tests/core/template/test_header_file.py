"""Which files a header can show, by their content and name."""

import pytest

from drumbeat.engine.core.media_limits import MEGABYTE
from drumbeat.engine.core.template.header_file import is_sendable_size, mime_type

JPEG, PNG, WEBP = b"\xff\xd8\xff\xe0" + bytes(8), b"\x89PNG\r\n\x1a\n" + bytes(4), b"RIFF\0\0\0\0WEBP"
MP4, THREE_GPP = bytes(4) + b"ftypisom", bytes(4) + b"ftyp3gp4"


@pytest.mark.parametrize(
    ("kind", "name", "head", "found"),
    [
        ("image", "a.png", JPEG, "image/jpeg"),
        ("image", "a", PNG, "image/png"),
        ("image", "a.jpg", WEBP, None),
        ("image", "a.jpg", MP4, None),
        ("image", "a.jpg", b"", None),
        ("video", "a", MP4, "video/mp4"),
        ("video", "a", THREE_GPP, "video/3gpp"),
        ("video", "a.mp4", JPEG, None),
        ("document", "Invoice.PDF", b"%PDF-1.7", "application/pdf"),
        ("document", "a.b.xlsx", b"PK", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("document", "a.png", PNG, None),
        ("document", "pdf.", b"", None),
    ],
)
def test_types(kind: str, name: str, head: bytes, found: str | None) -> None:
    assert mime_type(kind, name, head) == found


@pytest.mark.parametrize(
    ("kind", "megabytes", "is_sendable"),
    [
        ("image", 5, True),
        ("image", 5.1, False),
        ("video", 16, True),
        ("document", 101, False),
        ("image", 0, False),
    ],
)
def test_sizes(kind: str, megabytes: float, is_sendable: bool) -> None:
    assert is_sendable_size(kind, int(megabytes * MEGABYTE)) is is_sendable
