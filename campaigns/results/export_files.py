"""The forms of an export: CSV, XLSX, JSON Lines and Parquet, written page by page in constant memory.

Law: no cell of CSV or XLSX starts a formula in a spreadsheet. The cells hold texts of recipients and of the
service, and `=HYPERLINK(…)` in a name must stay a name. JSON Lines and Parquet hold the values as they are.
"""

import codecs
import csv
import io
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import orjson

from drumbeat.campaigns.results.export import COLUMNS, cell_text
from drumbeat.engine.errors import ConfigurationError, UsageError

SHEET_ROWS_MAX = 1_048_576  # of a worksheet, by its format; more recipients go to further sheets
ROW_GROUP_ROWS = 50_000  # of Parquet: smaller groups are packed worse, larger ones take more memory
CAMPAIGN = "campaign"  # the first column of JSON Lines and Parquet: programs put their files together


class ExportForm(StrEnum):
    CSV = "csv"
    XLSX = "xlsx"
    JSON_LINES = "jsonl"
    PARQUET = "parquet"


class Separator(StrEnum):
    """The signs between the cells of CSV. Spreadsheets of many countries, such as Germany and France,
    expect a semicolon.
    """

    COMMA = "comma"
    SEMICOLON = "semicolon"
    TAB = "tab"

    @property
    def sign(self) -> str:
        return {"comma": ",", "semicolon": ";", "tab": "\t"}[self]


class ExportWriter(Protocol):
    """A writer of pages of values. `close` completes the file; the caller closes its stream."""

    def write(self, page: Sequence[Sequence[Any]]) -> None: ...

    def close(self) -> None: ...


def form_of(given: ExportForm | None, output: Path | None) -> ExportForm:
    """Return the form that was asked for, else the one of the file's name, else CSV. Raise UsageError for a
    form that cannot go to stdout.
    """
    suffix = "" if output is None else output.suffix.lower().removeprefix(".")
    by_name = {**{form.value: form for form in ExportForm}, "ndjson": ExportForm.JSON_LINES}
    form = given or by_name.get(suffix, ExportForm.CSV)
    if output is None and form in (ExportForm.XLSX, ExportForm.PARQUET):
        raise UsageError(f"{form} is not text, so it cannot go to stdout", remedy="name a file with --output")
    return form


def writer_of(
    form: ExportForm,
    file: BinaryIO,
    campaign: str,
    columns: Sequence[str],
    *,
    separator: Separator = Separator.COMMA,
    is_marked: bool = True,
) -> ExportWriter:
    """Return a writer of this form. If the form has names of columns, they are written already. `separator`
    and `is_marked` are for CSV.
    """
    match form:
        case ExportForm.CSV:
            return CsvWriter(file, columns, separator.sign, is_marked=is_marked)
        case ExportForm.XLSX:
            return XlsxWriter(file, columns)
        case ExportForm.JSON_LINES:
            return JsonLinesWriter(file, campaign, columns)
        case ExportForm.PARQUET:
            return ParquetWriter(file, campaign, columns)


class CsvWriter:
    """A writer of CSV in UTF-8. Without a byte order mark, a spreadsheet reads accents wrong; for a pipe, the
    mark would be a part of the first name.
    """

    def __init__(
        self, file: BinaryIO, columns: Sequence[str], separator: str = ",", *, is_marked: bool = False
    ) -> None:
        self._file = file
        self._separator = separator
        if is_marked:
            file.write(codecs.BOM_UTF8)
        self._write([list(map(cell_text, columns))])

    def write(self, page: Sequence[Sequence[Any]]) -> None:
        self._write([list(map(cell_text, row)) for row in page])

    def _write(self, rows: Sequence[Sequence[str]]) -> None:
        text = io.StringIO()
        csv.writer(text, delimiter=self._separator, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode())

    def close(self) -> None:
        """Do nothing: every row is written already."""


class JsonLinesWriter:
    """A writer of one JSON object in each line."""

    def __init__(self, file: BinaryIO, campaign: str, columns: Sequence[str]) -> None:
        self._file = file
        self._campaign = campaign
        self._columns = columns

    def write(self, page: Sequence[Sequence[Any]]) -> None:
        option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
        first = {CAMPAIGN: self._campaign}
        objects = (first | dict(zip(self._columns, row, strict=True)) for row in page)
        self._file.write(b"".join(orjson.dumps(found, option=option) for found in objects))

    def close(self) -> None:
        """Do nothing: every row is written already."""


class XlsxWriter:
    """A workbook of text cells, with as many sheets as it needs."""

    def __init__(self, file: BinaryIO, columns: Sequence[str]) -> None:
        import xlsxwriter  # no other command needs it

        # constant_memory: rows go to a temporary file, in their order. No text becomes a link or a formula.
        options = {"constant_memory": True, "strings_to_urls": False, "strings_to_formulas": False}
        self._workbook = xlsxwriter.Workbook(file, options)
        self._columns = columns
        self._row = SHEET_ROWS_MAX
        self._add([])

    def write(self, page: Sequence[Sequence[Any]]) -> None:
        for row in page:
            self._add(list(map(cell_text, row)))

    def _add(self, cells: Sequence[str]) -> None:
        if self._row >= SHEET_ROWS_MAX:
            self._sheet = self._workbook.add_worksheet()
            self._row = 0
            self._put(self._columns)
        if cells:
            self._put(cells)

    def _put(self, cells: Sequence[str]) -> None:
        for at, text in enumerate(cells):
            if text:
                self._sheet.write_string(self._row, at, text)
        self._row += 1

    def close(self) -> None:
        self._workbook.close()


class ParquetWriter:
    """A writer of columns with types: times in UTC, codes and lines as numbers, everything else as text."""

    def __init__(self, file: BinaryIO, campaign: str, columns: Sequence[str]) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            raise ConfigurationError(
                "Parquet needs a package that is not installed",
                remedy="install drumbeat[parquet], or choose another --format",
            ) from error
        types = {"code": pyarrow.int32(), "line": pyarrow.int64()}
        types |= {name: pyarrow.timestamp("us", "UTC") for name in COLUMNS if name.endswith("_at")}
        fields = [(name, types.get(name, pyarrow.string())) for name in (CAMPAIGN, *columns)]
        self._schema = pyarrow.schema(fields)
        self._writer = parquet.ParquetWriter(file, self._schema)
        self._table_of = pyarrow.table
        self._campaign = campaign
        self._rows: list[Sequence[Any]] = []

    def write(self, page: Sequence[Sequence[Any]]) -> None:
        self._rows += page
        if len(self._rows) >= ROW_GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            columns = [[self._campaign] * len(rows), *map(list, zip(*rows, strict=True))]
            self._writer.write_table(self._table_of(columns, schema=self._schema))

    def close(self) -> None:
        self._write_group()
        self._writer.close()
