"""Texts of others in a CSV file of ours: a spreadsheet must not run them, and none may be lost by that.

Law: `as_written(safe_cell(text)) == text`, for every text.
"""

from __future__ import annotations

import re

# What spreadsheets take for the beginning of a formula, or strip before they look for one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_VARIABLE_COLUMN = re.compile(r"variable_[0-9]+")


def variable_column(number: int) -> str:
    """What an export calls the column of a variable, from 1."""
    return f"variable_{number}"


def is_variable_column(name: str) -> bool:
    """Whether an export may have written this column of an audience."""
    return _VARIABLE_COLUMN.fullmatch(name) is not None


def safe_cell(text: str) -> str:
    """A text that no spreadsheet runs: an apostrophe stands before what would start a formula."""
    return f"'{text}" if _is_marked(text) else text


def as_written(cell: str) -> str:
    """What `safe_cell` made the cell of."""
    return cell[1:] if cell.startswith("'") and _is_marked(cell) else cell


def _is_marked(text: str) -> bool:
    """Apostrophes before a formula count as part of it, or nobody could tell them from one of ours."""
    return text.lstrip(" '").startswith(_FORMULA_STARTS)
