"""An export as CSV runs nothing in a spreadsheet, its headings included: they come from somebody's list."""

import io

from drumbeat.campaigns.results.export_files import CsvWriter, ExportForm, Separator, writer_of


def test_a_separator_of_another_country_and_a_pipe_without_a_mark() -> None:
    file = io.BytesIO()
    separator = Separator.SEMICOLON
    writer_of(ExportForm.CSV, file, "spring", ["phone", "name"], separator=separator, is_marked=False)
    assert file.getvalue() == b"phone;name\n"


def test_no_heading_and_no_cell_starts_a_formula() -> None:
    file = io.BytesIO()
    CsvWriter(file, ["phone", "=1+1"]).write([["5511", "@now"]])
    assert file.getvalue().decode() == "phone,'=1+1\n5511,'@now\n"
