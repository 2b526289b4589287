"""A reader of JSON Lines: one object in each line, whose keys are the columns.

Law: the first object names all columns. A later object may lack some, but may not bring others: rows before
it would have been checked without them.
"""

import codecs
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

import orjson

from drumbeat.campaigns.audience.open.cell_text import float_text
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.reader import LINE_CHARACTERS_MAX, line_too_long
from drumbeat.campaigns.audience.open.spool import BATCH_ROWS, Spool

FORM = "JSON Lines"
# Rows are held in memory until so much text was read: lines may be a megabyte long.
BATCH_BYTES = 4 << 20


def spool_json_lines(file: BinaryIO, spool: Spool) -> None:
    """Write all rows to the spool. Raise UnreadableAudience, which names the line and what to do."""
    spool.form = FORM
    batch: list[list[str]] = []
    batch_bytes = 0
    columns: frozenset[str] = frozenset()
    for number, line in enumerate(_lines(file, spool.name), 1):
        if not line.strip():
            if spool.header:
                batch.append([""] * len(spool.header))
            continue
        found = _object(line, number, spool.name)
        if not spool.header:
            spool.header, spool.first, columns = list(found), number, frozenset(found)
            spool.check_header()
        _refuse_new_columns(found, columns, number, spool.name)
        batch.append(_row(found, spool.header, number, spool.name))
        batch_bytes += len(line)
        if len(batch) >= BATCH_ROWS or batch_bytes >= BATCH_BYTES:
            spool.write_rows(batch)
            batch, batch_bytes = [], 0
    spool.write_rows(batch)
    if not spool.header:
        raise UnreadableAudience(
            "the file is empty", where=spool.name, remedy="write one JSON object in each line"
        )


def _lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    file.seek(0)
    for number, line in enumerate(iter(partial(file.readline, LINE_CHARACTERS_MAX + 1), b""), 1):
        if len(line) > LINE_CHARACTERS_MAX:
            raise line_too_long(number, name)
        yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line


def _object(line: bytes, number: int, name: str) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UnreadableAudience(
            f"the line is not a JSON object: {error}",
            where=f"{name}, line {number}",
            remedy="write one object in each line, for example with: jq -c . (a cut file ends like this)",
        ) from error
    if not isinstance(found, dict) or not found:
        raise UnreadableAudience(
            "the line is not a JSON object with columns",
            where=f"{name}, line {number}",
            remedy='write one object in each line, such as {"phone": "+14155550101"}',
        )
    return found


def _refuse_new_columns(found: dict[str, Any], columns: frozenset[str], number: int, name: str) -> None:
    if found.keys() <= columns:
        return
    new = next(key for key in found if key not in columns)
    raise UnreadableAudience(
        f'the column "{new}" is not in the first object',
        where=f"{name}, line {number}",
        remedy="let the first object name every column, with null where it has no value",
    )


def _row(found: dict[str, Any], header: Sequence[str], number: int, name: str) -> list[str]:
    values = [found.get(column) for column in header]
    return [
        value if type(value) is str else _text(value, column, number, name)
        for column, value in zip(header, values, strict=True)
    ]


def _text(value: Any, column: str, number: int, name: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, dict | list):
        inner = f"{column}.{next(iter(value), '')}" if isinstance(value, dict) else f"{column}[0]"
        raise UnreadableAudience(
            f'the value of "{column}" is nested ({inner})',
            where=f"{name}, line {number}",
            remedy="give each value a column of its own",
        )
    return str(value)
