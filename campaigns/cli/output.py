"""A file that a command writes for a person: stdout, or one that appears whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from campaigns.output_file import target_of
from engine.errors import ConfigurationError


@contextmanager
def opened(output: Path | None, encoding: str = "utf-8") -> Iterator[TextIO]:
    """stdout; a device or a pipe; or a file that appears whole or not at all, readable only by its owner."""
    if output is None:
        yield sys.stdout
        return
    target = target_of(output)
    with writing(output):
        file = os.fdopen(target.open(), "w", encoding=encoding, newline="")
    try:
        yield file
        with writing(output):
            file.close()
            target.publish()
    finally:
        with suppress(OSError):  # told already
            file.close()
        target.drop()


@contextmanager
def writing(output: Path | None) -> Iterator[None]:
    """For what touches the file alone: an OSError of the database, such as a time-out, is no fault of it."""
    try:
        yield
    except OSError as error:
        if output is None:
            raise
        raise ConfigurationError(
            f"the file cannot be written: {error.strerror}",
            where=str(output),
            remedy="name another one with --output",
        ) from error
