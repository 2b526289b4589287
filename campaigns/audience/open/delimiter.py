"""The search for the character that separates cells: in the header, or in Excel's line `sep=;` before it."""

import re

DELIMITERS = (",", ";", "\t", "|")
_EXCEL_HINT = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE | re.DOTALL)
_QUOTED = re.compile(r'"(?:[^"]|"")*(?:"|$)')


def hinted_delimiter(line: str) -> str | None:
    """Return the delimiter in a line `sep=;`; None for any other line."""
    hint = _EXCEL_HINT.fullmatch(line)
    return hint[1] if hint is not None and hint[1] in DELIMITERS else None


def delimiter_of(header: str) -> str:
    """Return the most frequent delimiter in a header line outside quotes; a comma if there is none."""
    bare = _QUOTED.sub("", header)
    return max(DELIMITERS, key=bare.count)
