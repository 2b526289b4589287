"""A test of whether a file is there and complete, before it is read.

Law: half a file looks like a whole one. Only its age and its last line say that nobody writes to it any more.
"""

import os
import time
from pathlib import Path
from typing import BinaryIO

from drumbeat.campaigns.audience.open.formats import recognise
from drumbeat.campaigns.options.sources import STANDARD_INPUT, Format
from drumbeat.engine.errors import NotReady

_TEXTS = (Format.CSV, Format.JSON_LINES)


def require_ready_file(path: Path, unchanged_for_s: int, form: Format | None) -> None:
    """Raise NotReady if the file is missing, empty, or younger than it must be; then also if the last line
    of a text does not end. `form` is that of the option, if it is given.

    Any other problem of the file is left to whoever reads it.
    """
    if path == STANDARD_INPUT:
        return
    try:
        found = path.stat()
    except FileNotFoundError as error:
        raise NotReady(
            "the audience file does not exist",
            where=str(path.absolute()),
            remedy="check the path; if the file comes later, try again then",
        ) from error
    except OSError:
        return
    if path.is_dir():
        return
    if not found.st_size:
        raise NotReady(
            "the file is empty",
            where=str(path),
            remedy="its first line must name the columns; if it is being written, try again later",
        )
    if unchanged_for_s:
        _require_age(path, found.st_mtime, unchanged_for_s)
        _require_end(path, form)


def _require_age(path: Path, changed_at_s: float, least_s: int) -> None:
    age_s = max(0.0, time.time() - changed_at_s)
    if age_s < least_s:
        raise NotReady(
            f"the file changed {age_s:.0f} s ago, and {{unchanged_for}} asks for {least_s} s",
            where=str(path),
            remedy="try again later",
            wait_s=least_s - age_s,
            values={},
        )


def _require_end(path: Path, form: Format | None) -> None:
    with path.open("rb") as file:
        found = form or recognise(file, str(path))
        if found not in _TEXTS or _ends_a_line(file):
            return
    raise NotReady(
        "the last line of the file does not end, so it may be half a line",
        where=str(path),
        remedy="try again once it is complete; if it is, end its last line, or remove {unchanged_for}",
        values={},
    )


def _ends_a_line(file: BinaryIO) -> bool:
    """Return whether the last character is a line end; in UTF-16, it has a zero byte after it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 2))
    return file.read().rstrip(b"\x00")[-1:] in (b"\n", b"\r")
