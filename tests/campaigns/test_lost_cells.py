"""Errors, and formulas without a stored result: no row of a workbook is left out, and no default hides them."""

import csv
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.campaigns.audience.check.inspection import Inspection, inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.check.template_choice import TemplateChoice
from drumbeat.campaigns.audience.open import lost_cells
from drumbeat.campaigns.audience.open.stored_in_xlsx import read_stored_in_xlsx
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Pool
from tests.campaigns.audience_files import write_csv, write_json_lines

Rows = Sequence[Sequence[object]]
FIXTURES = Path(__file__).parent / "fixtures"
NO_RESULT = object()
RULES = RowRules(params=("name",), defaults={"name": "friend"})
PEOPLE: Rows = [["+14155550101", "Ada"], [NO_RESULT, NO_RESULT], ["+14155550103", "Cy"]]


def write_sheet(path: Path, rows: Rows, *, computes_all: bool = False) -> None:
    """Write a sheet with one table; xlsxwriter stores a 0 for each formula, which is then taken out."""
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet("Kunden")
        for number, row in enumerate([["phone", "name"], *rows]):
            for column, cell in enumerate(row):
                if cell is NO_RESULT:
                    sheet.write_formula(number, column, '="a"&"b"')
                elif isinstance(cell, str) and cell.startswith("#"):
                    sheet.write_formula(number, column, "=NA()", None, cell)
                elif isinstance(cell, str):
                    sheet.write_string(number, column, cell)
    if not computes_all:
        rewrite(path, "xl/worksheets/sheet1.xml", r"</f><v>0</v>", "</f>")


def rewrite(path: Path, member: str, old: str, new: str) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[member] = re.sub(old, new, parts[member].decode()).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def inspect(path: Path, rules: RowRules = RULES) -> Inspection:
    return inspect_audience(path, rejects_path=path.with_suffix(".bad.csv"), rules=rules)


def listed(path: Path) -> list[tuple[str, str, str, str]]:
    with path.with_suffix(".bad.csv").open(encoding="utf-8-sig", newline="") as file:
        return [(row["line"], row["code"], row["column"], row["value"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("rules", [RULES, RowRules(params=("name",))])
def test_an_error_is_named_with_and_without_a_default(tmp_path: Path, rules: RowRules) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, [["+14155550101", "Ada"], ["+14155550102", "#N/A"], ["#DIV/0!", "Cy"]])
    assert inspect(path, rules).reject_codes == {"cell_error": 2}
    assert listed(path) == [("3", "cell_error", "name", "#N/A"), ("4", "cell_error", "phone", "#DIV/0!")]


@pytest.mark.parametrize("computes_all", [False, True])
def test_a_row_of_formulas_without_results_is_counted(tmp_path: Path, computes_all: bool) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, [*PEOPLE, [], [NO_RESULT]], computes_all=computes_all)
    found = inspect(path)
    assert (found.rows, found.good, found.reject_codes) == (4, 2, {"cell_formula": 2})
    assert [row[0] for row in listed(path)] == ["3", "6"], "one is below the last row with a value"


def test_columns_that_nobody_reads_may_hold_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, [["+14155550101", NO_RESULT], ["+14155550102", "#REF!"]])
    assert inspect(path, RowRules()).good == 2


def test_an_array_formula_without_results_counts_for_all_its_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, [["+14155550101", NO_RESULT]])
    rewrite(path, "xl/worksheets/sheet1.xml", "<f>", '<f t="array" ref="A2:B4">')
    assert inspect(path).reject_codes == {"cell_formula": 3}


def test_one_formula_for_all_cells_of_a_sheet_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost_cells, "CELLS_MAX", 1_000)
    path = tmp_path / "a.xlsx"
    write_sheet(path, [["+14155550101", NO_RESULT]])
    rewrite(path, "xl/worksheets/sheet1.xml", "<f>", '<f t="array" ref="A2:XFD1048576">')
    with path.open("rb") as file, pytest.raises(ConfigurationError, match=r"more than 1,000 cells .*as XLSX"):
        read_stored_in_xlsx(file, "Kunden", path.name)


def test_a_header_without_a_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, [])
    rewrite(path, "xl/worksheets/sheet1.xml", '<c r="B1" t="s"><v>1</v></c>', '<c r="B1"><f>"name"</f></c>')
    with pytest.raises(ConfigurationError, match=r"formula without a stored result .*row 1, column B"):
        inspect(path)


def test_other_prefixes_and_cells_without_references_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, PEOPLE)
    sheet = "xl/worksheets/sheet1.xml"
    rewrite(path, sheet, r"<(/?)(\w)", r"<\1x:\2")
    rewrite(path, sheet, "<x:worksheet xmlns=", "<x:worksheet xmlns:x=")
    rewrite(path, sheet, r'<x:c r="\w+"', "<x:c")
    found = inspect(path)
    assert (found.rows, found.good) == (3, 2)


def test_a_document_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, PEOPLE)
    rewrite(path, "xl/worksheets/sheet1.xml", "<worksheet", "<!DOCTYPE a [<!ENTITY b 'c'>]><worksheet")
    with pytest.raises(ConfigurationError, match="document type"):
        inspect(path)


def test_errors_in_xls_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.xls"
    path.write_bytes((FIXTURES / "errors.xls").read_bytes())
    found = inspect(path)
    assert (found.rows, found.good) == (5, 1)
    assert [row[:3] for row in listed(path)] == [
        ("2", "cell_formula", "name"),
        ("3", "cell_formula", "name"),
        ("5", "cell_error", "phone"),
        ("7", "cell_formula", "phone"),
    ]


def test_errors_in_ods_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.ods"
    write_ods_cells(path)
    found = inspect(path)
    assert (found.rows, found.good) == (6, 1)
    assert [row[:2] for row in listed(path)] == [
        ("2", "cell_error"),
        ("5", "cell_formula"),
        ("6", "cell_formula"),
        ("7", "cell_error"),
        ("9", "cell_formula"),
    ]


def write_ods_cells(path: Path) -> None:
    """Write cells as LibreOffice and other writers store errors, with repeated rows and cells and a comment."""

    def text(value: str) -> str:
        return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'

    note = "<office:annotation><text:p>#REF!</text:p></office:annotation>"
    error = (
        '<table:table-cell table:formula="of:=NA()" office:value-type="string" office:string-value=""'
        f' calcext:value-type="error">{note}<text:p>#N/A</text:p></table:table-cell>'
    )
    old_error = (
        '<table:table-cell table:formula="of:=1/0" office:value-type="float" office:value="0">'
        "<text:p>#DIV/0!</text:p></table:table-cell>"
    )
    none = '<table:table-cell table:formula="of:=A1" table:number-columns-repeated="2"/>'
    empty = '<table:table-cell table:number-columns-repeated="2"/>'
    rows = [
        ("1", text("phone") + text("name")),
        ("1", text("+14155550101") + error),
        ("2", empty),
        ("2", none),
        ("1", text("+14155550102") + old_error),
        ("1", text("+14155550103") + text("Cy")),
        ("1", none),
    ]
    cells = "".join(
        f'<table:table-row table:number-rows-repeated="{count}">{row}</table:table-row>'
        for count, row in rows
    )
    names = "urn:oasis:names:tc:opendocument:xmlns"
    calcext = "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"
    content = (
        f'<office:document-content xmlns:office="{names}:office:1.0" xmlns:table="{names}:table:1.0"'
        f' xmlns:text="{names}:text:1.0" xmlns:calcext="{calcext}"><office:body><office:spreadsheet>'
        f'<table:table table:name="Kunden">{cells}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")


@pytest.mark.parametrize("write", [write_csv, write_json_lines])
def test_the_words_of_errors_are_errors_in_texts(tmp_path: Path, write: Callable[..., None]) -> None:
    words = [
        "#N/A",
        "#REF!",
        "#DIV/0!",
        "#VALUE!",
        "#NAME?",
        " #n/a ",
        "#NV",
        "#BEZUG!",
        "Err:502",
        "#FORMULA!",
    ]
    kept = ["#1", "NULL", "N/A", "#Rabatt", "nan", "#REF", "Err"]
    path = tmp_path / "a.txt"
    write(path, ["phone", "name"], [[f"+141555501{at:02}", word] for at, word in enumerate([*words, *kept])])
    found = inspect(path)
    assert found.good == len(kept)
    assert found.reject_codes == {"cell_error": len(words) - 1, "cell_formula": 1}


def test_an_error_in_the_column_of_languages_is_no_other_language(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_csv(path, ["phone", "language"], [["+14155550101", "en"], ["+14155550102", "#N/A"]])
    rules = RowRules(choice=TemplateChoice(("en_US", "de"), "language"))
    assert inspect(path, rules).reject_codes == {"cell_error": 1}


async def test_nobody_of_an_exclusion_is_sent_to(
    ready: str, pool: Pool, spec: CampaignSpec, tmp_path: Path
) -> None:
    path = tmp_path / "leave-out.xlsx"
    write_sheet(path, PEOPLE)
    with pytest.raises(ConfigurationError, match=r"without a stored result.*line 3"):
        await create_campaign(ready, replace(spec, exclude=(str(path),)))
    assert await pool.fetchval("SELECT count(*) FROM recipients") == 0


async def test_an_import_lists_whom_it_cannot_read(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "stop.xlsx"
    write_sheet(path, PEOPLE)
    async with pool.acquire() as connection:
        counts = await import_suppressions(connection, path, reason="stop")
    assert (counts.changed, counts.rejected) == (2, 1)


@pytest.mark.parametrize("rows", [[[NO_RESULT, "Ada"]], []])
async def test_an_import_that_reads_nobody_is_an_error(pool: Pool, tmp_path: Path, rows: Rows) -> None:
    path = tmp_path / "stop.xlsx"
    write_sheet(path, rows)
    async with pool.acquire() as connection:
        with pytest.raises(ConfigurationError, match=r"names nobody.*phone_column"):
            await import_suppressions(connection, path, reason="stop")


CELLS = st.sampled_from([None, "", NO_RESULT, "#N/A", "#REF!", "Ada", "+14155550101", "+14155550102", "x"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(st.lists(CELLS, max_size=2), max_size=8), computes_all=st.booleans())
def test_every_row_with_a_cell_is_in_a_count(tmp_path: Path, rows: Rows, computes_all: bool) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(path, rows, computes_all=computes_all)
    filled = [row for row in rows if any(cell not in (None, "") for cell in row)]
    good = [
        row
        for row in filled
        if isinstance(row[0], str) and row[0].startswith("+") and not _is_lost(row[1] if len(row) > 1 else "")
    ]
    found = inspect(path)
    assert (found.rows, found.good) == (len(filled), len(good))
    assert found.rows == found.good + sum(found.reject_codes.values())


def _is_lost(cell: object) -> bool:
    return cell is NO_RESULT or (isinstance(cell, str) and cell.startswith("#"))
