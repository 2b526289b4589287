"""The recognition of a file's content by its first bytes. The name only helps to choose among texts."""

import codecs
import zipfile
from enum import StrEnum
from pathlib import Path, PurePath
from typing import BinaryIO

from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.options.sources import STANDARD_INPUT, Format

HEAD_BYTES = 1 << 12


class Packing(StrEnum):
    """A form in which a file may be packed."""

    GZIP = "gzip"
    ZIP = "zip"
    ZSTD = "zstd"


WORKBOOKS = frozenset({Format.XLSX, Format.XLS, Format.ODS})
_BY_MAGIC: dict[bytes, Format | Packing] = {
    b"\x1f\x8b": Packing.GZIP,
    b"\x28\xb5\x2f\xfd": Packing.ZSTD,
    b"\xd0\xcf\x11\xe0": Format.XLS,  # also any workbook that is protected by a password
    b"PAR1": Format.PARQUET,
}
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_FOREIGN = {
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"GIF8": "a picture (GIF)",
    b"BM": "a picture (BMP)",
    b"II*\x00": "a picture (TIFF)",
    b"MM\x00*": "a picture (TIFF)",
    b"%PDF": "a PDF",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"7z\xbc\xaf": "an archive (7z)",
    b"Rar!": "an archive (RAR)",
    b"\x7fELF": "a program",
    b"SQLite format 3": "an SQLite database",
    b"{\\rtf": "a text document (RTF)",
}
# Many programs export web pages under the name of a workbook.
_MARKUP = {
    b"<!doctype html": "a web page (HTML)",
    b"<html": "a web page (HTML)",
    b"<table": "a web page (HTML)",
    b"<?xml": "an XML document",
}
_FOREIGN_MEMBERS = {
    "word/document.xml": "a Word document",
    "ppt/presentation.xml": "a PowerPoint presentation",
}
_WORKBOOK_MEMBERS = {
    "xl/workbook.xml": Format.XLSX,
    "content.xml": Format.ODS,
}
_BINARY_WORKBOOK = "xl/workbook.bin"
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


def recognise(file: BinaryIO, name: str) -> Format | Packing:
    """Return the form of an open file. The file is at its start afterwards. A text that is not JSON Lines is
    CSV.

    Raise UnreadableAudience if it is a picture, an archive of another kind, or damaged.
    """
    head = file.read(HEAD_BYTES)
    file.seek(0)
    if head.startswith(_ZIP):
        return _recognise_zip(file, name)
    for magic, found in _BY_MAGIC.items():
        if head.startswith(magic):
            return found
    _refuse_foreign(head, name)
    return Format.JSON_LINES if _is_json(head, name) else Format.CSV


def _recognise_zip(file: BinaryIO, name: str) -> Format | Packing:
    try:
        with zipfile.ZipFile(file) as archive:
            members = set(archive.namelist())
    except zipfile.BadZipFile as error:
        raise UnreadableAudience(
            "the archive or workbook is cut off or damaged", where=name, remedy="copy or export it again"
        ) from error
    finally:
        file.seek(0)
    for member, found in _WORKBOOK_MEMBERS.items():
        if member in members:
            return found
    if _BINARY_WORKBOOK in members:
        raise UnreadableAudience(
            "a binary workbook (XLSB) is not read: formulas without a result would look like empty cells",
            where=name,
            remedy="save it as XLSX",
        )
    for member, kind in _FOREIGN_MEMBERS.items():
        if member in members:
            raise _foreign(kind, name)
    return Packing.ZIP


def _refuse_foreign(head: bytes, name: str) -> None:
    kind = next((kind for magic, kind in _FOREIGN.items() if head.startswith(magic)), None)
    if head.startswith(b"BM") and head.isascii():
        kind = None  # a text; a picture has its size in the next bytes
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        kind = "a picture (WebP)"
    if head[4:8] == b"ftyp":
        kind = "a video (MP4)"
    text = head.removeprefix(codecs.BOM_UTF8).lstrip().lower()
    kind = next((kind for begin, kind in _MARKUP.items() if text.startswith(begin)), kind)
    if kind is not None:
        raise _foreign(kind, name)


def _foreign(kind: str, name: str) -> UnreadableAudience:
    return UnreadableAudience(
        f"this is {kind}, not a table", where=name, remedy="export the recipients as CSV or XLSX"
    )


def _is_json(head: bytes, name: str) -> bool:
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    named_json = PurePath(name).suffix.lower() in _JSON_SUFFIXES
    if text.startswith(b"[") and named_json:
        raise UnreadableAudience(
            "this is one JSON array, not JSON Lines",
            where=name,
            remedy="write one object in each line, for example with: jq -c '.[]'",
        )
    return named_json or (text[:1] == b"{" and text[1:].lstrip().startswith(b'"'))


def stem(path: Path) -> str:
    """Return the name of an audience without its endings: `customers` for `customers.csv.gz`."""
    if path == STANDARD_INPUT:
        return "stdin"
    name = path.name
    if PurePath(name).suffix.lower() in (".gz", ".zst", ".zip"):
        name = PurePath(name).stem if "." in PurePath(name).stem else name
    return PurePath(name).stem
