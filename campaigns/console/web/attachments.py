"""The files that browsers store: their names, and rows as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import quote
from zoneinfo import ZoneInfo

_NOT_FIRST = ".- "  # a file would be hidden, or a command would take its name for an option
_NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f"*/:<>?\\|]+')  # some system refuses each of them


def attachment(extension: str, *parts: str, zone: str) -> str:
    """Return the header Content-Disposition for a file that is named after `parts` and today's date in the
    zone.
    """
    today = f"{datetime.now(ZoneInfo(zone)):%Y-%m-%d}"
    name = " ".join(_NOT_IN_NAMES.sub("-", part) for part in (*parts, today)) + f".{extension}"
    name = name.lstrip(_NOT_FIRST)
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name)}"


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
