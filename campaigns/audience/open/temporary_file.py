"""Temporary files without a name. They vanish with the process, and their errors name the cure."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from drumbeat.engine.errors import ConfigurationError

# This is more than the largest table that one Postgres plans in an hour. It limits what a bomb may write.
TEMPORARY_BYTES_MAX = 32 << 30


def temporary_file() -> BinaryIO:
    """Return an open file that only this process can reach: it may hold phone numbers."""
    return cast("BinaryIO", tempfile.TemporaryFile(prefix="drumbeat-"))


@contextmanager
def temporary_file_errors(what: str) -> Iterator[None]:
    """Turn an error of a temporary file into a ConfigurationError that begins with `what`."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"{what}, because a temporary file failed: {error.strerror}",
            where=tempfile.gettempdir(),
            remedy="free some space there, or set TMPDIR to another directory",
        ) from error
