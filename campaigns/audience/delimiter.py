"""Which character separates the cells: read from the header line, or from the line Excel writes before it."""

from __future__ import annotations

import re

DELIMITERS = (",", ";", "\t", "|")
_EXCEL_HINT = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"]|"")*(?:"|$)')


def hinted_delimiter(line: str) -> str | None:
    """The delimiter of a line `sep=;`, which is no header; None for every other line."""
    hint = _EXCEL_HINT.fullmatch(line)
    return hint[1] if hint is not None and hint[1] in DELIMITERS else None


def delimiter_of(header: str) -> str:
    """The delimiter that stands most often in a header line outside quotes; a comma where none does."""
    bare = _QUOTED.sub("", header)
    return max(DELIMITERS, key=bare.count)
