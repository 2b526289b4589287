"""Cells of workbooks are read as people see them: formats, hidden rows and columns, merged cells."""

import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.campaigns.audience.check.inspection import Inspection, inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.hidden_rows import HiddenRowsUndecided
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.audience.open.reader import is_blank
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.options.sources import ALL_ROWS, HiddenRowsChoice, ReadOptions
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Pool
from tests.campaigns.workbook_files import Sheet, Shown, write_ods_sheet, write_xlsx_sheet

FIXTURES = Path(__file__).parent / "fixtures"
SHEET_1 = "xl/worksheets/sheet1.xml"
WRITERS: dict[str, Callable[[Path, Sheet], None]] = {"xlsx": write_xlsx_sheet, "ods": write_ods_sheet}
PHONES = ["+14155550101", "+14155550102", "+14155550103", "+14155550104"]
SKIP = ReadOptions(hidden_rows=HiddenRowsChoice.SKIP)


@pytest.fixture(params=WRITERS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(tmp_path: Path, form: str, sheet: Sheet) -> Path:
    path = tmp_path / f"people.{form}"
    WRITERS[form](path, sheet)
    return path


def rows_of(path: Path, options: ReadOptions = ALL_ROWS) -> list[list[str]]:
    with open_table(path, options) as source:
        return [row for batch in source.table().batches() for row in batch.rows if not is_blank(row)]


def findings_of(path: Path, options: ReadOptions = ALL_ROWS) -> list[tuple[str, str, int, list[int]]]:
    with open_table(path, options) as source:
        return [(each.code, each.column, each.count, each.lines) for each in source.table().findings]


def rewrite(path: Path, member: str, old: str, new: str) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[member] = re.sub(old, new, parts[member].decode()).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_numbers_are_shown_by_their_formats(tmp_path: Path, form: str) -> None:
    cells = [
        Shown(0.15, "0%", "15%", "percentage"),
        Shown(19.9, '#,##0.00 "€"', "19.90 €", "currency"),
        Shown(42, "00000", "00042"),
        Shown(57.699999999999996, "General", "57.7"),
        Shown(491701234567, "#,##0", "491,701,234,567"),
        Shown(4155550101, "General", "4155550101"),
    ]
    path = written(tmp_path, form, Sheet([["phone", *"abcdef"], [PHONES[0], *cells]]))
    expected = ["15%", "19.90 €", "00042", "57.7", "491701234567", "4155550101"]
    assert rows_of(path) == [[PHONES[0], *expected]]
    assert findings_of(path) == []


def test_xls_is_shown_like_xlsx() -> None:
    path = FIXTURES / "formats.xls"  # made by xlwt
    assert rows_of(path) == [
        ["4155550101", "15%", "19.90 €", "00042", "57.7", "05.03.2026", "18:30", "36:00", "Porto"],
        ["4155550102", "8%", "1,234.50 €", "00007", "0.3", "24.12.2026", "09:00", "6:00", "Porto"],
        ["4155550103", "100%", "0.50 €", "12345", "3", "06.03.2026", "18:00", "54:00", "Faro"],
    ]
    assert len(rows_of(path, SKIP)) == 2
    assert findings_of(path) == [("rows_hidden_read", "", 1, [3]), ("column_hidden", "code", 0, [])]


@pytest.mark.parametrize("from_1904", [False, True])
def test_dates_count_from_the_year_of_the_workbook(tmp_path: Path, from_1904: bool) -> None:
    path = tmp_path / "a.xlsx"
    made = openpyxl.Workbook()
    if from_1904:
        made.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    sheet = made.active
    assert sheet is not None
    sheet.append(["phone", "day", "time"])
    sheet.append([PHONES[0], date(2026, 3, 5), 1.5])
    sheet["B2"].number_format, sheet["C2"].number_format = "DD.MM.YYYY", "[h]:mm"
    made.save(path)
    assert rows_of(path) == [[PHONES[0], "05.03.2026", "36:00"]]


def test_dates_as_texts_of_iso_8601_are_shown_by_their_formats(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_xlsx_sheet(path, Sheet([["phone", "day"], [PHONES[0], Shown(1, "dd.mm.yyyy")]]))
    rewrite(path, SHEET_1, r'(<c r="B2" s="1")><v>1</v>', r'\1 t="d"><v>2026-03-05T00:00:00.000Z</v>')
    assert rows_of(path) == [[PHONES[0], "05.03.2026"]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'<c r="[A-Z]+[0-9]+"', "<c"),
        (r'<c r="([A-Z]+[0-9]+)" s="([0-9]+)"', r'<c s="\2" r="\1"'),
        (r' s="([0-9]+)"', r" s='\1'"),
        ("<sheetData>", "<sheetData><!-- written by hand -->"),
        (r"<(/?)(row|c|v|is|t)\b", r"<\1x:\2"),
    ],
)
def test_cells_that_are_written_in_another_way_are_read_alike(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "a.xlsx"
    rows = [["phone", "a", "b"], *([phone, Shown(0.5, "0%"), Shown(7, "000")] for phone in PHONES)]
    write_xlsx_sheet(path, Sheet(rows))
    rewrite(path, SHEET_1, old, new)
    if "x:" in new:
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        rewrite(path, SHEET_1, "<worksheet ", f'<worksheet xmlns:x="{space}" ')
    assert rows_of(path) == [[phone, "50%", "007"] for phone in PHONES]


def test_styles_change_within_a_column(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    codes = ["0%", "General", "0%", "0.00"]
    rows = [["phone", "a"], *([phone, Shown(0.5, code)] for phone, code in zip(PHONES, codes, strict=True))]
    write_xlsx_sheet(path, Sheet(rows))
    assert [row[1] for row in rows_of(path)] == ["50%", "0.5", "50%", "0.50"]


def test_formats_that_need_care_are_found_by_column_before_create(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    days = [Shown(46086, "mmm yyyy"), Shown(46086, "[$-411]ggge"), Shown(46086, 14)]
    rows = [["phone", "month", "era", "day", "other"], [PHONES[0], *days, Shown(46086, "mmm yyyy")]]
    write_xlsx_sheet(path, Sheet(rows))
    found = inspect(path, RowRules(params=("month", "era", "day")))
    assert [(each["code"], each["column"], each["lines"]) for each in found.findings] == [
        ("format_language", "month", [2]),
        ("format_unknown", "era", [2]),
        ("format_system", "day", [2]),
    ], "the other column is not read"
    assert rows_of(path) == [[PHONES[0], "Mar 2026", "46086", "2026-03-05", "Mar 2026"]]


def test_a_date_that_a_spreadsheet_cannot_show_is_a_reject(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_xlsx_sheet(path, Sheet([["phone", "day"], [PHONES[0], Shown(0, "dd.mm.yyyy")]]))
    assert inspect(path, RowRules(params=("day",))).reject_codes == {"cell_error": 1}


def inspect(path: Path, rules: RowRules, options: ReadOptions = ALL_ROWS) -> Inspection:
    return inspect_audience(path, rejects_path=path.with_suffix(".bad.csv"), rules=rules, options=options)


def people(hidden: tuple[int, ...] = (2, 4), *, filtered: bool = True) -> Sheet:
    names = ("Ada", "Ben", "Cleo", "Dan")
    rows = [["phone", "name"], *zip(PHONES, names, strict=True)]
    return Sheet(rows, hidden_rows=hidden, filtered=filtered)


@pytest.mark.parametrize(
    ("filtered", "said"), [(True, "2 rows are hidden by a filter"), (False, "2 rows are hidden ")]
)
def test_hidden_rows_ask_for_a_choice(tmp_path: Path, form: str, filtered: bool, said: str) -> None:
    path = written(tmp_path, form, people(filtered=filtered))
    with pytest.raises(HiddenRowsUndecided, match=rf"{said}.*row 3.*hidden_rows") as refused:
        rows_of(path, ReadOptions())
    assert refused.value.count == 2
    assert [row[1] for row in rows_of(path)] == ["Ada", "Ben", "Cleo", "Dan"]
    assert [row[1] for row in rows_of(path, SKIP)] == ["Ada", "Cleo"]
    assert findings_of(path) == [("rows_hidden_read", "", 2, [3, 5])]
    assert findings_of(path, SKIP) == [("rows_hidden_skipped", "", 2, [3, 5])]


def test_skipped_rows_are_in_no_count_and_lines_stay(tmp_path: Path, form: str) -> None:
    sheet = people()
    path = written(tmp_path, form, replace(sheet, rows=[*sheet.rows, ["not a phone", "Eve"]]))
    found = inspect(path, RowRules(params=("name",)), SKIP)
    assert (found.rows, found.good, found.rejected) == (3, 2, 1)
    assert "\n6," in path.with_suffix(".bad.csv").read_text(encoding="utf-8-sig")


def test_empty_hidden_rows_and_a_hidden_header_need_no_choice(tmp_path: Path, form: str) -> None:
    sheet = people((0, 3))
    rows = [row if at != 3 else [None, None] for at, row in enumerate(sheet.rows)]
    path = written(tmp_path, form, replace(sheet, rows=rows))
    assert len(rows_of(path, ReadOptions())) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [('hidden="1"', 'ht="0" customHeight="1"'), ("<sheetFormatPr", '<sheetFormatPr zeroHeight="1"')],
)
def test_rows_without_height_are_hidden(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "a.xlsx"
    write_xlsx_sheet(path, people(() if "zero" in new else (2, 4), filtered=False))
    rewrite(path, SHEET_1, old, new)
    with pytest.raises(HiddenRowsUndecided):
        rows_of(path, ReadOptions())


def test_a_closed_group_of_rows_is_hidden(tmp_path: Path) -> None:
    path = tmp_path / "a.ods"
    write_ods_sheet(path, people(()))
    row = r"(<table:table-row>(?:(?!</table:table-row>).)*Ben.*?</table:table-row>)"
    group = r'<table:table-row-group table:display="false">\1</table:table-row-group>'
    rewrite(path, "content.xml", row, group)
    assert [row[1] for row in rows_of(path, SKIP)] == ["Ada", "Cleo", "Dan"]


def test_a_hidden_column_is_told_if_it_is_read(tmp_path: Path, form: str) -> None:
    rows = [["phone", "name", "city"], *([phone, "Ada", "Porto"] for phone in PHONES)]
    path = written(tmp_path, form, Sheet(rows, hidden_columns=(1,)))
    codes = [each["code"] for each in inspect(path, RowRules(params=("name",))).findings]
    assert codes == ["column_hidden"]
    assert inspect(path, RowRules(params=("city",))).findings == []


async def test_hidden_rows_are_left_out_of_a_campaign_too(
    ready: str, pool: Pool, spec: CampaignSpec, tmp_path: Path
) -> None:
    path = tmp_path / "leave-out.xlsx"
    write_xlsx_sheet(path, people())
    created = await create_campaign(ready, replace(spec, exclude=[str(path)]))
    assert [each["code"] for each in created.audience.findings] == ["excluded_rows_hidden"]


async def test_hidden_rows_are_suppressed_too(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "stop.xlsx"
    write_xlsx_sheet(path, people())
    async with pool.acquire() as connection:
        counts = await import_suppressions(connection, path, reason="stop")
    assert (counts.changed, counts.hidden) == (4, 2)


async def test_create_asks_what_to_do_with_hidden_rows(
    ready: str, pool: Pool, spec: CampaignSpec, tmp_path: Path
) -> None:
    path = tmp_path / "people.xlsx"
    write_xlsx_sheet(path, people())
    with pytest.raises(ConfigurationError, match="2 rows are hidden by a filter"):
        await create_campaign(ready, replace(spec, audience=path))
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 0


def merged(*merges: tuple[int, int, int, int]) -> Sheet:
    rows = [
        ["phone", "name", "city"],
        [PHONES[0], "Ada", "Porto"],
        [PHONES[1], "Ben", None],
        [PHONES[2], "Cleo", None],
        [PHONES[3], "Dan", "Faro"],
    ]
    return Sheet(rows, merges=merges)


def test_a_merged_value_holds_for_all_its_rows(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, form, merged((1, 2, 3, 2)))
    assert [row[2] for row in rows_of(path)] == ["Porto", "Porto", "Porto", "Faro"]
    assert inspect(path, RowRules(params=("city",), defaults={"city": "your town"})).good == 4


def test_a_cell_that_is_merged_into_another_column_is_a_reject_if_it_is_read(
    tmp_path: Path, form: str
) -> None:
    path = written(tmp_path, form, merged((2, 1, 2, 2)))
    assert inspect(path, RowRules(params=("name",))).good == 4
    found = inspect(path, RowRules(params=("city",), defaults={"city": "your town"}))
    assert (found.good, found.reject_codes) == (3, {"cell_merged": 1})


def test_a_row_of_merged_cells_alone_is_no_row(tmp_path: Path, form: str) -> None:
    rows = [["phone", "name"], [PHONES[0], "Ada"], [None, None], [None, None], [PHONES[1], "Ben"]]
    path = written(tmp_path, form, Sheet(rows, merges=[(1, 0, 3, 0), (1, 1, 3, 1)]))
    assert rows_of(path) == [[PHONES[0], "Ada"], [PHONES[1], "Ben"]]


CELLS = st.one_of(
    st.sampled_from([None, "Ada", *PHONES, "#N/A"]),
    st.builds(Shown, st.sampled_from([0.5, 4155550101.0, 42.0]), st.sampled_from(["0%", "General", "0.00"])),
)


@st.composite
def sheets(draw: st.DrawFn) -> Sheet:
    rows = draw(st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=8))
    last = len(rows)
    merges = []
    if last > 1 and draw(st.booleans()):
        top = draw(st.integers(1, last - 1))
        left = draw(st.integers(0, 2))
        merges = [(top, left, draw(st.integers(top + 1, last)), left)]
    hidden = draw(st.sets(st.integers(1, max(last, 1)), max_size=3))
    return Sheet([["phone", "name", "city"], *rows], hidden_rows=sorted(hidden), merges=merges)


def counted(rows: list[list[object]]) -> Iterator[list[object]]:
    return (row for row in rows if any(cell not in (None, "") for cell in row))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(sheet=sheets(), choice=st.sampled_from(HiddenRowsChoice))
def test_each_row_of_any_workbook_is_in_a_count(
    tmp_path: Path, sheet: Sheet, choice: HiddenRowsChoice
) -> None:
    path = tmp_path / "a.xlsx"
    write_xlsx_sheet(path, sheet)
    covered = {(row, left) for top, left, bottom, _ in sheet.merges for row in range(top + 1, bottom + 1)}
    own = [
        [None if (at, column) in covered else cell for column, cell in enumerate(row)]
        for at, row in enumerate(sheet.rows)
    ]
    skips = choice is HiddenRowsChoice.SKIP
    kept = [row for at, row in enumerate(own) if at and not (skips and at in sheet.hidden_rows)]
    rules = RowRules(params=("name",), region="US", defaults={"name": "friend"})
    found = inspect(path, rules, ReadOptions(hidden_rows=choice))
    assert found.rows == len(list(counted(kept)))
    assert found.rows == found.good + sum(found.reject_codes.values())
