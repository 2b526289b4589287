"""A cell that is safe in a spreadsheet can be read back as the text that it was made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.audience.spreadsheet import as_written, is_variable_column, safe_cell, variable_column


@given(st.text("'=+-@＝ \ta1", max_size=6) | st.text())
def test_every_text_comes_back(text: str) -> None:
    assert as_written(safe_cell(text)) == text


@given(st.text("'=+-@＝ \ta1", max_size=6))
def test_no_cell_starts_a_formula(text: str) -> None:
    assert not safe_cell(text).lstrip(" ").startswith(("=", "+", "-", "@", "\t", "＝"))


@pytest.mark.parametrize("text", ["Ana", "it's", "'quoted'", "", "'", "a=b", "1-2"])
def test_other_texts_stay(text: str) -> None:
    assert safe_cell(text) == as_written(text) == text


def test_the_columns_of_an_export_are_known() -> None:
    assert is_variable_column(variable_column(12))
    assert not any(map(is_variable_column, ("variable", "variable_", "variable_x", "Variable 1", "name")))
