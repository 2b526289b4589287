"""Makes texts safe for spreadsheets, which run cells that look like a formula, and restores them.

Law: `as_written(safe_cell(text)) == text`, for every text.
"""

import re
from collections.abc import Sequence

# Characters that start a formula, or that spreadsheets strip before they look for one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# The columns of `campaign export`, before those of the variables.
EXPORT_COLUMNS = (
    "phone", "state", "code", "reason", "line", "wamid", "phone_number_id",
    "attempted_at", "sent_at", "delivered_at", "read_at", "failed_at", "language", "variant", "detail",
)  # fmt: skip
_VARIABLE_COLUMN = re.compile(r"variable_[0-9]+")


def variable_column(number: int) -> str:
    """The name of a variable's column in an export; `number` counts from 1."""
    return f"variable_{number}"


def is_variable_column(name: str) -> bool:
    """Whether `campaign export` may have written this column."""
    return _VARIABLE_COLUMN.fullmatch(name) is not None


def is_export(header: Sequence[str]) -> bool:
    """Whether `campaign export` wrote the whole table for a spreadsheet."""
    return tuple(header[: len(EXPORT_COLUMNS)]) == EXPORT_COLUMNS


def safe_cell(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would run it."""
    return f"'{text}" if _is_marked(text) else text


def as_written(cell: str) -> str:
    """The text that `safe_cell` made this cell from."""
    return cell[1:] if cell.startswith("'") and _is_marked(cell) else cell


def _is_marked(text: str) -> bool:
    """Whether `safe_cell` marks the text. Leading apostrophes count as part of a formula, so that the mark
    can be told from them.
    """
    return text.lstrip(" '").startswith(_FORMULA_STARTS)
