"""Tells one phone number from two, and from a number with an extension.

Law: digits that follow a complete number are no part of it. Joined to it, they name a number that nobody
wrote, such as 030 2312500102 for `030 23125001/02`. A slash and a bracket also separate the area code, as in
`030/23125001`; there, the digits before them are not complete yet. A dash only separates groups: in
`030 231250-09`, all digits are dialled.
"""

import re
from collections.abc import Callable

EXTENSION = "phone_extension"
TWO_NUMBERS = "phone_two_numbers"
AREA_CODE_DIGITS_MAX = 5  # of any country. Plans of variable length call an area code and two digits valid
_WHOLE_NUMBER_DIGITS = 7  # an extension has fewer
_BREAK = re.compile(r"[^0-9 .)\-]+(?=.*[0-9])", re.DOTALL)
_AND_OR = re.compile(r"\b(or|oder|and|und|bzw|ou|et|y|e|o)\b", re.IGNORECASE)
_MARK = re.compile(r"[^\W\d_]|[#*(]")  # a letter, as in x12 or Durchwahl 12, or a sign of its own


def second_number(text: str, is_complete: Callable[[str], bool]) -> str | None:
    """Return the reject code of a text that holds more than one number; None if it holds at most one.

    `text` has ASCII digits. `is_complete` tells whether a text is a whole number.
    """
    for found in _BREAK.finditer(text):
        if is_complete(text[: found.start()]):
            return _code(found[0], text[found.start() :])
    return None


def _code(between: str, rest: str) -> str:
    if sum(map(str.isdigit, rest)) >= _WHOLE_NUMBER_DIGITS or _AND_OR.search(between):
        return TWO_NUMBERS
    return EXTENSION if _MARK.search(between) else TWO_NUMBERS
