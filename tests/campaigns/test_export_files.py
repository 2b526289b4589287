"""Each form of an export holds every value, and no spreadsheet runs one."""

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet
import pytest
from python_calamine import load_workbook

from drumbeat.campaigns.results import export_files
from drumbeat.campaigns.results.export import COLUMNS
from drumbeat.campaigns.results.export_files import ExportForm, form_of, writer_of
from drumbeat.engine.errors import UsageError

NAMES = [*COLUMNS, "name"]
READ_AT = datetime(2026, 7, 1, 12, 30, 5, 123000, UTC)
VALUES = {"phone": "5511960000000", "state": "read", "code": 131026, "line": 7, "read_at": READ_AT}
ROW = [VALUES.get(name) for name in COLUMNS] + ["=1+1"]
CELLS = {**VALUES, "code": "131026", "line": "7", "read_at": "2026-07-01T12:30:05.123+00:00", "name": "'=1+1"}


def written(form: ExportForm, pages: list[list[list[Any]]]) -> io.BytesIO:
    file = io.BytesIO()
    writer = writer_of(form, file, "spring", NAMES)
    for page in pages:
        writer.write(page)
    writer.close()
    return io.BytesIO(file.getvalue())


def rows_of_workbook(file: io.BytesIO) -> list[list[list[str]]]:
    workbook = load_workbook(file)
    return [
        [[str(cell) for cell in row] for row in workbook.get_sheet_by_name(name).to_python()]
        for name in workbook.sheet_names
    ]


def test_csv() -> None:
    text = written(ExportForm.CSV, [[ROW]]).read().decode()
    assert text.startswith("\ufeff"), "without a mark, a spreadsheet reads accents wrong"
    header, line = text.removeprefix("\ufeff").splitlines()
    assert header.split(",") == NAMES
    assert dict(zip(NAMES, line.split(","), strict=True)) == {name: CELLS.get(name) or "" for name in NAMES}


def test_a_workbook_has_texts_only() -> None:
    [[header, row]] = rows_of_workbook(written(ExportForm.XLSX, [[ROW]]))
    assert header == NAMES
    assert dict(zip(NAMES, row, strict=True)) == {name: CELLS.get(name) or "" for name in NAMES}


def test_a_workbook_goes_on_in_another_sheet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_files, "SHEET_ROWS_MAX", 3)
    sheets = rows_of_workbook(written(ExportForm.XLSX, [[ROW] * 2, [ROW] * 3]))
    assert [len(rows) for rows in sheets] == [3, 3, 2]
    assert [rows[0] for rows in sheets] == [NAMES] * 3


def test_json_lines_keep_values() -> None:
    [line] = written(ExportForm.JSON_LINES, [[ROW]]).read().splitlines()
    assert orjson.loads(line) == {
        "campaign": "spring",
        **dict.fromkeys(COLUMNS),
        **VALUES,
        "read_at": "2026-07-01T12:30:05.123000Z",
        "name": "=1+1",
    }


def test_parquet_has_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_files, "ROW_GROUP_ROWS", 3)
    file = pyarrow.parquet.ParquetFile(written(ExportForm.PARQUET, [[ROW] * 2, [ROW] * 2, [ROW]]))
    assert file.num_row_groups == 2, "small pages are put together"
    table = file.read().to_pylist()
    assert table == [{"campaign": "spring", **dict.fromkeys(COLUMNS), **VALUES, "name": "=1+1"}] * 5
    assert pyarrow.types.is_int32(file.schema_arrow.field("code").type)


@pytest.mark.parametrize("form", ExportForm)
def test_nobody_is_an_export_too(form: ExportForm) -> None:
    assert written(form, []).getbuffer().nbytes > 0 or form is ExportForm.JSON_LINES


@pytest.mark.parametrize(
    ("given", "name", "form"),
    [
        (None, None, ExportForm.CSV),
        (None, "all.xlsx", ExportForm.XLSX),
        (None, "ALL.PARQUET", ExportForm.PARQUET),
        (None, "all.ndjson", ExportForm.JSON_LINES),
        (None, "all.txt", ExportForm.CSV),
        (ExportForm.JSON_LINES, "all.csv", ExportForm.JSON_LINES),
        (ExportForm.JSON_LINES, None, ExportForm.JSON_LINES),
    ],
)
def test_the_name_of_the_file_tells_its_form(
    given: ExportForm | None, name: str | None, form: ExportForm
) -> None:
    assert form_of(given, None if name is None else Path(name)) is form


@pytest.mark.parametrize("form", [ExportForm.XLSX, ExportForm.PARQUET])
def test_a_binary_form_does_not_go_to_stdout(form: ExportForm) -> None:
    with pytest.raises(UsageError, match="--output"):
        form_of(form, None)
