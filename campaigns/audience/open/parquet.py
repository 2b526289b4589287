"""A reader of Parquet, in batches. It needs pyarrow, which the extra `parquet` installs."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO

from drumbeat.campaigns.audience.open.cell_text import float_text, time_text
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.spool import Spool
from drumbeat.engine.errors import ConfigurationError

FORM = "Parquet"
# Danger: a dictionary packs a long text in a million rows into a small file. 5,000 rows of 30,000 characters
# took 870 MiB at once, 250 rows 68 MiB; a plain row costs 0.8 microseconds more.
UNPACKED_ROWS = 250


def spool_parquet(file: BinaryIO, spool: Spool) -> None:
    """Write all rows to the spool. Raise ConfigurationError without pyarrow, and for nested columns."""
    arrow, parquet = _pyarrow(spool.name)
    file.seek(0)
    try:
        source = parquet.ParquetFile(file)
        spool.form, spool.header = FORM, list(source.schema_arrow.names)
        spool.check_header()
        texts = [_column_text(arrow, field, spool.name) for field in source.schema_arrow]
        for batch in source.iter_batches(batch_size=UNPACKED_ROWS):
            columns = [text(column) for text, column in zip(texts, batch.columns, strict=True)]
            spool.write_rows(list(zip(*columns, strict=True)))
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UnreadableAudience(
            f"the Parquet file is cut off or damaged: {error}",
            where=spool.name,
            remedy="copy or export it again",
        ) from error


def _pyarrow(name: str) -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigurationError(
            "Parquet needs the package pyarrow",
            where=name,
            remedy="install the extra: pip install 'drumbeat[parquet]'",
        ) from error


def _column_text(arrow: Any, field: Any, name: str) -> Callable[[Any], list[str]]:
    """Return a function that turns a column of this type into texts."""
    kinds, kind = arrow.types, field.type
    if kinds.is_dictionary(kind):
        kind = kind.value_type
    if kinds.is_nested(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind):
        raise UnreadableAudience(
            f'the column "{field.name}" holds {field.type}',
            where=name,
            remedy="give each value a column of its own, as text or as a number",
        )
    if kinds.is_timestamp(kind):
        without_ns = arrow.timestamp("us", kind.tz)
        return lambda column: _texts(column.cast(without_ns, safe=False), time_text)
    if kinds.is_temporal(kind):
        return lambda column: _texts(column, time_text)
    if kinds.is_floating(kind):
        return lambda column: _texts(column, float_text)
    return lambda column: _texts(column.cast(arrow.string()), str)


def _texts(column: Any, text: Callable[[Any], str]) -> list[str]:
    values = column.to_pylist()
    if text is str:
        return [value or "" for value in values]
    return ["" if value is None else text(value) for value in values]
