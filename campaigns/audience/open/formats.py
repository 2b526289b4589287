"""The recognition of a file's content by its first bytes. The name only helps to choose among texts."""

import codecs
import zipfile
import zlib
from enum import StrEnum
from pathlib import Path, PurePath
from typing import BinaryIO

import olefile

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
    b"MZ": "a program",
    b"SQLite format 3": "an SQLite database",
    b"\x00\x01\x00\x00Standard ": "an Access database",
    b"{\\rtf": "a text document (RTF)",
    b"%!PS": "a PostScript document",
    b"ARROW1": "an Arrow file",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"ID;PWXL": "a workbook in the old form SYLK",
    b"ID;PCALC": "a workbook in the old form SYLK",
}
# Texts by how they begin, after a byte order mark and blank lines, in any case. Many programs export web
# pages under the name of a workbook.
_MARKUP = {
    **dict.fromkeys(
        ("<!doctype html", "<html", "<head", "<body", "<table", "<div", "<meta", "<style", "<!--"),
        "a web page (HTML)",
    ),
    "<?xml": "an XML document",
    "mime-version:": "a web page or a mail (MIME)",
    "from: <saved by": "a web page (MHTML)",
    "begin:vcard": "a contact file (vCard)",
    "begin:vcalendar": "a calendar (iCalendar)",
    "dn: ": "a directory export (LDIF)",
    **dict.fromkeys(
        (
            "insert into ",
            "create table ",
            "-- mysql dump",
            "-- mariadb dump",
            "--\n-- postgresql database dump",
        ),
        "an SQL script",
    ),
}
_ALSO_LETTERS = (b"BM", b"MZ", b"ORC")  # a header may begin so; the head of such a file is no ASCII
# Old Office files are containers of streams; a workbook has other ones.
_FOREIGN_STREAMS = {
    "WordDocument": "a Word document",
    "PowerPoint Document": "a PowerPoint presentation",
    "__properties_version1.0": "an Outlook message",
}
_MARKUP_CHARACTERS = 200  # of a text's beginning
_FOREIGN_MEMBERS = {
    "word/document.xml": "a Word document",
    "ppt/presentation.xml": "a PowerPoint presentation",
    "Index/Document.iwa": "a document of Numbers, Pages or Keynote",
    "META-INF/MANIFEST.MF": "a program",
    "META-INF/container.xml": "a book (EPUB)",
}
_DOCUMENT_TYPE_BYTES_MAX = 256
# Danger: zipfile unpacks a member of another method as a whole. 600 MiB, packed in 574 bytes, took 1.2 GiB.
_UNPACKED_IN_PARTS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
# OpenDocument names its kind in the first member of the archive.
_OPEN_DOCUMENTS = {
    b"application/vnd.oasis.opendocument.text": "a text document (ODT)",
    b"application/vnd.oasis.opendocument.presentation": "a presentation (ODP)",
    b"application/vnd.oasis.opendocument.graphics": "a drawing (ODG)",
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
            _refuse_foreign_streams(file, name, found)
            return found
    _refuse_foreign(head, name)
    return Format.JSON_LINES if _is_json(head, name) else Format.CSV


def _recognise_zip(file: BinaryIO, name: str) -> Format | Packing:
    try:
        with zipfile.ZipFile(file) as archive:
            members = set(archive.namelist())
            _require_known_methods(archive, name)
            document = _document_type(archive) if "mimetype" in members else b""
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise UnreadableAudience(
            "the archive or workbook is cut off or damaged", where=name, remedy="copy or export it again"
        ) from error
    finally:
        file.seek(0)
    if (kind := _OPEN_DOCUMENTS.get(document.strip())) is not None:
        raise _foreign(kind, name)
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


def _require_known_methods(archive: zipfile.ZipFile, name: str) -> None:
    for member in archive.infolist():
        if member.compress_type not in _UNPACKED_IN_PARTS:
            raise UnreadableAudience(
                f"the archive packs {PurePath(member.filename).name} by a rare method",
                where=name,
                remedy="pack it by the usual one, deflate, or unpack it first",
            )


def _document_type(archive: zipfile.ZipFile) -> bytes:
    """Return the type that an OpenDocument file names.

    Danger: a bomb may have the name of this member, so only its beginning is unpacked.
    """
    member = archive.getinfo("mimetype")
    if needs_password(member):
        return b""
    with archive.open(member) as text:
        return text.read(_DOCUMENT_TYPE_BYTES_MAX)


def needs_password(member: zipfile.ZipInfo) -> bool:
    """Return whether a member of a zip is encrypted."""
    return bool(member.flag_bits & 1)


def _refuse_foreign_streams(file: BinaryIO, name: str, found: Format | Packing) -> None:
    if found is not Format.XLS:
        return
    try:
        with olefile.OleFileIO(file) as container:
            kind = next((kind for stream, kind in _FOREIGN_STREAMS.items() if container.exists(stream)), None)
    except OSError:
        return  # damaged: the reader of workbooks says so
    finally:
        file.seek(0)
    if kind is not None:
        raise _foreign(kind, name)


def _refuse_foreign(head: bytes, name: str) -> None:
    kind = next((kind for magic, kind in _FOREIGN.items() if head.startswith(magic)), None)
    if head.startswith(_ALSO_LETTERS) and head.isascii():
        kind = None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        kind = "a picture (WebP)"
    if head[4:8] == b"ftyp":
        kind = "a video (MP4)"
    text = _beginning(head).lower()
    kind = next((kind for begin, kind in _MARKUP.items() if text.startswith(begin)), kind)
    if kind is not None:
        raise _foreign(kind, name)


def _beginning(head: bytes) -> str:
    """Return the beginning of a text without what may stand before it. Other bytes become any letters."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = head[: len(head) // 2 * 2].decode("utf-16", "replace")
    else:
        text = head.decode("utf-8-sig", "replace")
    return text.lstrip()[:_MARKUP_CHARACTERS]


def _foreign(kind: str, name: str) -> UnreadableAudience:
    return UnreadableAudience(
        f"this is {kind}, not a table", where=name, remedy="export the recipients as CSV or XLSX"
    )


def _is_json(head: bytes, name: str) -> bool:
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    named_json = PurePath(name).suffix.lower() in _JSON_SUFFIXES
    begins = text[1:].lstrip()[:1]
    if text[:1] == b"[" and (named_json or begins in (b"{", b"[")):
        raise UnreadableAudience(
            "this is one JSON array, not JSON Lines",
            where=name,
            remedy="write one object in each line, for example with: jq -c '.[]'",
        )
    return named_json or (text[:1] == b"{" and begins == b'"')


def stem(path: Path) -> str:
    """Return the name of an audience without its endings: `customers` for `customers.csv.gz`."""
    if path == STANDARD_INPUT:
        return "stdin"
    name = path.name
    if PurePath(name).suffix.lower() in (".gz", ".zst", ".zip"):
        name = PurePath(name).stem if "." in PurePath(name).stem else name
    return PurePath(name).stem
