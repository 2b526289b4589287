"""An audience whose rows a program gives.

Law: a row keeps its index, counted from 0. A first row that is a mapping names all columns. Of
sequences, the first one is the header and has no index.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from drumbeat.campaigns.audience.open.cell_text import float_text
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.spool import BATCH_ROWS, Spool
from drumbeat.campaigns.options.sources import GIVEN_ROWS, GivenRows

FORM = "rows of a program"


def spool_given(given: GivenRows, spool: Spool) -> None:
    """Write all rows to the spool. Raise UnreadableAudience, which names the row."""
    rows = iter(given.rows)
    first = next(rows, None)
    if first is None:
        raise UnreadableAudience("there are no rows", where=GIVEN_ROWS, remedy="give at least a header")
    spool.form, spool.first = FORM, 0
    if isinstance(first, Mapping):
        spool.header = [str(column) for column in first]
        spool.write_rows([_mapped(first, list(first), 0)])
        start = 1
    else:
        spool.header = [str(column) for column in _sequence(first, 0)]
        start = 0
    columns = list(first)
    while batch := list(islice(rows, BATCH_ROWS)):
        spool.write_rows([_cells(row, columns, start + at) for at, row in enumerate(batch)])
        start += len(batch)


def _cells(row: Any, columns: Sequence[Any], index: int) -> list[str]:
    if isinstance(row, Mapping):
        return _mapped(row, columns, index)
    cells = _sequence(row, index)
    if len(cells) != len(columns):
        raise UnreadableAudience(
            f"the row has {len(cells)} cells, and the header {len(columns)}",
            where=_where(index),
            remedy="give each row a cell for each column",
        )
    return [_text(cell, column, index) for cell, column in zip(cells, columns, strict=True)]


def _mapped(row: Mapping[Any, Any], columns: Sequence[Any], index: int) -> list[str]:
    known = set(columns)
    if new := next((column for column in row if column not in known), None):
        raise UnreadableAudience(
            f'the column "{new}" is not in the first row',
            where=_where(index),
            remedy="let the first row name every column, with None where it has no value",
        )
    return [_text(row.get(column), column, index) for column in columns]


def _sequence(row: Any, index: int) -> Sequence[Any]:
    if isinstance(row, str | bytes) or not isinstance(row, Sequence):
        raise UnreadableAudience(
            f"the row is a {type(row).__name__}", where=_where(index), remedy="give mappings, tuples or lists"
        )
    return row


def _text(value: Any, column: Any, index: int) -> str:
    """Return a value as its cell shows it. A missing value of a data frame is not equal to itself."""
    if value is None or (not isinstance(value, str) and _is_missing(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Mapping | Sequence | set) and not isinstance(value, str):
        raise UnreadableAudience(
            f'the value of "{column}" is a {type(value).__name__}',
            where=_where(index),
            remedy="give each value a column of its own",
        )
    return str(value)


def _is_missing(value: Any) -> bool:
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA of pandas refuses to be compared
        return True


def _where(index: int) -> str:
    return f"{GIVEN_ROWS}, row {index}"
