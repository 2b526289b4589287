"""A cell that is safe in a spreadsheet can be read back as the text that it was made of."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.campaigns.output.spreadsheet import as_written, is_variable_column, safe_cell, variable_column
from drumbeat.campaigns.phones.phone_text import is_phone
from drumbeat.campaigns.results.export import cell_text


@given(st.text("'=+-@＝ \ta1", max_size=6) | st.text())
def test_every_text_comes_back(text: str) -> None:
    assert as_written(safe_cell(text)) == text


@given(st.text("'=+-@＝ \ta1", max_size=6))
def test_no_cell_starts_a_formula(text: str) -> None:
    assert not safe_cell(text).lstrip(" ").startswith(("=", "+", "-", "@", "\t", "＝"))


CHARACTERS = "'\"=+-@＝＋－＠,;|\t\r\n \ta1"
CELLS = re.compile("[,;|\t\r\n]")


@given(st.text(CHARACTERS, max_size=12))
def test_whatever_separates_its_parts_they_come_back_and_start_no_formula(text: str) -> None:
    cell = safe_cell(text)
    assert as_written(cell) == text
    for part in CELLS.split(cell):
        assert not part.lstrip(' "').startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠"))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@given(
    rows=st.lists(st.lists(st.text(CHARACTERS, max_size=8), min_size=2, max_size=3), min_size=1, max_size=3)
)
def test_a_file_with_commas_starts_no_formula_in_any_spreadsheet(
    separator: str, rows: list[list[str]]
) -> None:
    """As a spreadsheet reads it: a quote is one at the beginning of a cell alone."""
    text = io.StringIO()
    csv.writer(text).writerows([["+5511987654321", *map(safe_cell, row)] for row in rows])
    for row in csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=separator):
        for cell in row:
            assert cell.startswith("+5511987654321") or not cell.lstrip(' "').startswith(
                ("=", "+", "-", "@", "＝", "＋", "－", "＠")
            )


@pytest.mark.parametrize(
    "text", [";=1", "a;=1", "a; =1", 'a;"=1', "a\t=1", "a,@x", "a\n=1", "a\r+1", "a;＝1"]
)
def test_a_part_that_a_separator_cuts_off_is_marked(text: str) -> None:
    at = next(position for position, character in enumerate(text) if character in ",;\t\n\r") + 1
    assert safe_cell(text) == f"{text[:at]}'{text[at:]}"


@pytest.mark.parametrize("text", ["'+4915726936860", "+4915726936860", "+49 157", "+1", "+49157269368600000"])
def test_a_phone_of_an_export_has_no_mark_and_every_text_comes_back(text: str) -> None:
    assert is_phone(text) is (text == "+4915726936860")
    assert cell_text(text).startswith("'") is not is_phone(text)
    assert as_written(cell_text(text)) == text


def test_a_mark_of_an_earlier_version_is_taken_off() -> None:
    assert as_written("'+4915726936860") == "+4915726936860"


@pytest.mark.parametrize("text", ["Ana", "a; b", "12;3", "a,b", "it's", "'quoted'", "", "'", "a=b", "1-2"])
def test_other_texts_stay(text: str) -> None:
    assert safe_cell(text) == as_written(text) == text


def test_the_columns_of_an_export_are_known() -> None:
    assert is_variable_column(variable_column(12))
    assert not any(map(is_variable_column, ("variable", "variable_", "variable_x", "Variable 1", "name")))
