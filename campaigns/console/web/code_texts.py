"""The words for the service's error codes in the reader's language, found by the code."""

from __future__ import annotations

from drumbeat.campaigns.texts import Texts
from drumbeat.engine.core.error_codes import ERROR_CODES, HTTP_STATUSES, UNLISTED, ErrorCode, row_of

HTTP = "http_"
# A row of the table → the first code that has it. Its words stand there once.
FIRST_CODES: dict[ErrorCode, str] = {
    **{row: f"{HTTP}{status}" for status, row in HTTP_STATUSES.items()},
    **{ERROR_CODES[code]: str(code) for code in sorted(ERROR_CODES, reverse=True)},
    UNLISTED: "unlisted",
}


def code_meaning(texts: Texts, name: str) -> str:
    """Return the meaning of a recorded error, a code or `http_<status>`; empty for a reason in words."""
    if name.startswith(HTTP):
        return texts("code_meaning.http", status=name.removeprefix(HTTP))
    return _words(texts, "code_meaning", name)


def code_remedy(texts: Texts, name: str) -> str:
    """Return the remedy for a recorded error, for a person; empty for a reason in words."""
    return _words(texts, "code_remedy", name)


def _words(texts: Texts, kind: str, name: str) -> str:
    first = FIRST_CODES.get(row_of(name))
    return "" if first is None else texts(f"{kind}.{first}")
