"""An export as CSV runs nothing in a spreadsheet, its headings included: they come from somebody's list."""

import io

from drumbeat.campaigns.results.export_files import CsvWriter


def test_no_heading_and_no_cell_starts_a_formula() -> None:
    file = io.BytesIO()
    CsvWriter(file, ["phone", "=1+1"]).write([["5511", "@now"]])
    assert file.getvalue().decode() == "phone,'=1+1\n5511,'@now\n"
