"""Writes the same rows in every form that an audience may have."""

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import orjson
import pyarrow
import pyarrow.parquet
import xlsxwriter

from drumbeat.campaigns.audience.open.unpacking import zstd

Rows = Sequence[Sequence[str]]


def write_csv(path: Path, header: Sequence[str], rows: Rows) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def write_json_lines(path: Path, header: Sequence[str], rows: Rows) -> None:
    path.write_bytes(b"".join(orjson.dumps(dict(zip(header, row, strict=True))) + b"\n" for row in rows))


def write_xlsx(path: Path, header: Sequence[str], rows: Rows, sheet: str = "Kunden") -> None:
    with xlsxwriter.Workbook(path) as workbook:
        written = workbook.add_worksheet(sheet)
        for number, row in enumerate([header, *rows]):
            for column, cell in enumerate(row):
                written.write_string(number, column, cell)


def write_ods(path: Path, header: Sequence[str], rows: Rows, sheet: str = "Kunden") -> None:
    """A minimal document: calamine reads the type of the file and its content."""
    cells = "".join(
        f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in [header, *rows]
    )
    names = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content xmlns:office="{names}:office:1.0" '
        f'xmlns:table="{names}:table:1.0" xmlns:text="{names}:text:1.0"><office:body><office:spreadsheet>'
        f'<table:table table:name="{sheet}">{cells}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )


def _ods_cell(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<table:table-cell office:value-type="string"><text:p>{escaped}</text:p></table:table-cell>'


def write_parquet(path: Path, header: Sequence[str], rows: Rows) -> None:
    columns = {name: [row[at] for row in rows] for at, name in enumerate(header)}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def packed(write: Callable[[Path, Sequence[str], Rows], None], packing: str) -> Callable[..., None]:
    """A writer whose file is packed with gzip, zip or zstd."""

    def write_packed(path: Path, header: Sequence[str], rows: Rows) -> None:
        write(path, header, rows)
        content = path.read_bytes()
        path.write_bytes(pack(content, packing))

    return write_packed


def pack(content: bytes, packing: str, member: str = "customers.csv") -> bytes:
    if packing == "gzip":
        return gzip.compress(content)
    if packing == "zstd":
        return zstd.compress(content)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return file.getvalue()
