"""The rule for a variable: what the service refuses in it."""

import re

VARIABLE_CHARACTERS_MAX = 1024  # the limit for the whole body of a template
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"  # stands for a letter that a program lost

_SUSPECT = re.compile(r"[\n\r\v\f\x85\u2028\u2029]|\t|\x00| {5}|\ufffd")
_REASON_OF_SUSPECT = {"\t": "tab", "\x00": "control", "     ": "spaces", REPLACEMENT: "replacement"}


def check_variable(value: str) -> str | None:
    """Return why the service would refuse a variable, or None if it would not.

    The reasons are empty, newline, tab, control, spaces, replacement and too_long.
    """
    if not value or value.isspace():
        return "empty"
    if len(value) > VARIABLE_CHARACTERS_MAX:
        return "too_long"
    suspect = _SUSPECT.search(value)
    return None if suspect is None else _REASON_OF_SUSPECT.get(suspect.group(), "newline")
