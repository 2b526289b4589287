"""Writes workbooks as people have them: number formats, hidden rows and columns, merged cells."""

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import xlsxwriter

_ODF = "urn:oasis:names:tc:opendocument:xmlns"


@dataclass(frozen=True, slots=True)
class Shown:
    """A number or a text with its format. `text` is what a spreadsheet shows of it, which ODS stores."""

    value: float | str
    code: str | int  # of a built-in format
    text: str = ""
    kind: str = "float"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table, with what its sheet hides and merges: indexes from 0. A merge is top, left, bottom, right."""

    rows: Sequence[Sequence[object]]
    hidden_rows: Sequence[int] = ()
    hidden_columns: Sequence[int] = ()
    merges: Sequence[tuple[int, int, int, int]] = ()
    filtered: bool = False
    more: dict[str, object] = field(default_factory=dict)  # for xlsxwriter


def write_xlsx_sheet(path: Path, sheet: Sheet) -> None:
    with xlsxwriter.Workbook(path, sheet.more) as made:
        written = made.add_worksheet("Kunden")
        for merge in sheet.merges:
            written.merge_range(*merge, "")  # its cells may hold values that nobody sees
        for row, cells in enumerate(sheet.rows):
            for column, cell in enumerate(cells):
                if isinstance(cell, Shown):
                    style = made.add_format({"num_format": cell.code})
                    written.write(row, column, cell.value, style)
                elif cell is not None:
                    written.write(row, column, cell)
        if sheet.filtered:
            written.autofilter(0, 0, len(sheet.rows) - 1, 0)
            written.filter_column(0, "x == NonBlanks")
        for row in sheet.hidden_rows:
            written.set_row(row, options={"hidden": True})
        for column in sheet.hidden_columns:
            written.set_column(column, column, options={"hidden": True})


def write_ods_sheet(path: Path, sheet: Sheet) -> None:
    columns = max(map(len, sheet.rows))
    collapsed = ' table:visibility="collapse"'
    hidden = "".join(
        f"<table:table-column{collapsed if at in sheet.hidden_columns else ''}/>" for at in range(columns)
    )
    rows = "".join(_ods_row(sheet, at) for at in range(len(sheet.rows)))
    content = (
        f'<office:document-content xmlns:office="{_ODF}:office:1.0" xmlns:table="{_ODF}:table:1.0"'
        f' xmlns:text="{_ODF}:text:1.0"><office:body><office:spreadsheet><table:table table:name="Kunden">'
        f"{hidden}{rows}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")


def _ods_row(sheet: Sheet, row: int) -> str:
    word = "filter" if sheet.filtered else "collapse"
    hidden = f' table:visibility="{word}"' if row in sheet.hidden_rows else ""
    cells = "".join(_ods_cell(sheet, row, column, cell) for column, cell in enumerate(sheet.rows[row]))
    return f"<table:table-row{hidden}>{cells}</table:table-row>"


def _ods_cell(sheet: Sheet, row: int, column: int, cell: object) -> str:
    spans = ""
    for top, left, bottom, right in sheet.merges:
        if (top, left) == (row, column):
            spans = (
                f' table:number-rows-spanned="{bottom - top + 1}"'
                f' table:number-columns-spanned="{right - left + 1}"'
            )
        elif top <= row <= bottom and left <= column <= right:
            return "<table:covered-table-cell/>"
    if cell is None:
        return f"<table:table-cell{spans}/>"
    if isinstance(cell, Shown) and not isinstance(cell.value, str):
        value = f' office:value-type="{cell.kind}" office:value="{cell.value}"'
        return f"<table:table-cell{spans}{value}><text:p>{escape(cell.text)}</text:p></table:table-cell>"
    text = cell.text if isinstance(cell, Shown) else str(cell)
    kind = " office:value-type=" + quoteattr("string")
    return f"<table:table-cell{spans}{kind}><text:p>{escape(text)}</text:p></table:table-cell>"
