"""The output of a command: stdout, or a file that appears complete or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from drumbeat.campaigns.output.output_file import output_file
from drumbeat.engine.errors import ConfigurationError


@contextmanager
def opened(output: Path | None, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Open stdout, a device, a pipe, or a file that appears complete and only its owner can read."""
    if output is None:
        yield sys.stdout
        return
    target = output_file(output)
    with writing(output):
        file = os.fdopen(target.open(), "w", encoding=encoding, newline="")
    try:
        yield file
        with writing(output):
            file.close()
            target.publish()
    finally:
        with suppress(OSError):  # the failed write raised already
            file.close()
        target.drop()


@contextmanager
def writing(output: Path | None) -> Iterator[None]:
    """Turn an OSError into a ConfigurationError. For writes only, since the database raises OSError too."""
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
