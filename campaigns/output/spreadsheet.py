"""A way to make texts safe for spreadsheets, which run cells that look like a formula, and to restore the
texts.

Law: `as_written(safe_cell(text)) == text`, for every text.

A spreadsheet splits a line at the separator of its own country, whatever the file has, and a quote inside a
line holds nothing together: for a German one, `;=1` in a cell ends that cell and begins a formula. So
whatever follows a separator counts as a cell.
"""

import re
from collections.abc import Sequence

# Characters that start a formula, or that spreadsheets strip before they look for one.
_START = r"[ '\"]*[=+\-@\t\r\n＝＋－＠]"
_SEPARATOR = r"[,;|\t\r\n]"
# A mark is put, and was put, at the beginning of the text and after each separator. Quotes
# and marks that are there already count as part of a formula, so that a new mark can be told from them.
_MARKED = re.compile(rf"(^|{_SEPARATOR})(?={_START})")
_MARK = re.compile(rf"(^|{_SEPARATOR})'(?={_START})")
# The columns of `campaign export`, before those of the variables.
EXPORT_COLUMNS = (
    "phone", "state", "code", "reason", "line", "wamid", "phone_number_id",
    "attempted_at", "sent_at", "delivered_at", "read_at", "failed_at", "language", "variant", "detail",
)  # fmt: skip
_VARIABLE_COLUMN = re.compile(r"variable_[0-9]+")


def variable_column(number: int) -> str:
    """Return the name of a variable's column in an export; `number` counts from 1."""
    return f"variable_{number}"


def is_variable_column(name: str) -> bool:
    """Return whether `campaign export` may have written this column."""
    return _VARIABLE_COLUMN.fullmatch(name) is not None


def is_export(header: Sequence[str]) -> bool:
    """Return whether `campaign export` wrote the whole table for a spreadsheet."""
    return tuple(header[: len(EXPORT_COLUMNS)]) == EXPORT_COLUMNS


def safe_cell(text: str) -> str:
    """Return the text with an apostrophe before each part of it that a spreadsheet would run."""
    return _MARKED.sub(r"\1'", text)


def as_written(cell: str) -> str:
    """Return the text that `safe_cell` made this cell from, and of a phone that has no mark the phone."""
    return _MARK.sub(r"\1", cell)
