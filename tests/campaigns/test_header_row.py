"""Titles above the header: the row that names the columns is proposed, and a person confirms it."""

from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.header_row import HeaderRowUndecided, proposed_header_row
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.options.sources import Format, ReadOptions
from drumbeat.engine.errors import UsageError
from tests.campaigns.workbook_files import Sheet, write_xlsx_sheet

TITLED = [
    ["Kunden Frühling", "", ""],
    ["", "", ""],
    ["Telefon", "Vorname", "Betrag"],
    ["+49 30 23125001", "Ada", "5"],
]


@pytest.mark.parametrize(
    ("rows", "proposed"),
    [
        (TITLED, 3),
        ([["List", "May"], ["phone", "name", "city", "order"], ["1", "A", "B", "C"]], 2),
        ([["phone", "name"], ["1", "Ada"]], None),
        ([["phone"], ["1"]], None),
        ([["phone", "", ""], ["1", "Ada", "Rome"]], None),  # names are missing, and nothing else names them
        ([["List", ""], ["name", "name"], ["1", "Ada"]], None),
        ([["List", ""]], None),
        ([], None),
    ],
)
def test_the_first_row_of_names_below_a_title_is_proposed(
    rows: list[list[str]], proposed: int | None
) -> None:
    assert proposed_header_row(enumerate(rows, 1)) == proposed


def titled(directory: Path, form: Format) -> Path:
    path = directory / f"list.{form.value}"
    if form is Format.XLSX:
        write_xlsx_sheet(path, Sheet(TITLED, merges=[(0, 0, 0, 2)]))
    else:
        path.write_text("".join(";".join(row) + "\n" for row in TITLED))
    return path


@pytest.mark.parametrize("form", [Format.XLSX, Format.CSV])
def test_a_title_is_a_question_and_the_answer_keeps_the_numbers_of_rows(form: Format, tmp_path: Path) -> None:
    path = titled(tmp_path, form)
    with pytest.raises(HeaderRowUndecided, match=r'(row|line) 1 holds only "Kunden Frühling"') as asked:
        glimpse(path)
    assert asked.value.proposed == 3
    assert [number for number, cells in asked.value.rows if any(cells)][:2] == [1, 3]
    with open_table(path, ReadOptions(header_row=3)) as source:
        table = source.table()
        assert list(table.header) == ["Telefon", "Vorname", "Betrag"]
        assert [(list(batch.lines), batch.rows) for batch in table.batches() if batch.rows] == [
            ([4], [["+49 30 23125001", "Ada", "5"]])
        ]


@pytest.mark.parametrize("form", [Format.XLSX, Format.CSV])
@pytest.mark.parametrize("row", [2, 9])
def test_a_row_without_names_is_refused(form: Format, row: int, tmp_path: Path) -> None:
    with pytest.raises(UnreadableAudience, match=f"{row} has no names of columns"):
        glimpse(titled(tmp_path, form), ReadOptions(header_row=row))


def test_json_lines_have_no_header(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"phone": "1"}\n')
    with pytest.raises(UsageError, match="header_row"):
        glimpse(path, ReadOptions(header_row=2))
