"""The rule that tells one phone number from two, and from a number with an extension.

Law: digits that follow a complete number are no part of it. Joined to it, they name a number that nobody
wrote, such as 030 2312500102 for `030 23125001/02`. A slash and a bracket also separate the area code, as in
`030/23125001`; there, the digits before them are not complete yet. A dash, a space or a dot only separates
groups: in `030 231250-09`, all digits are dialled. If what follows it is a whole number that begins with 0,
as in `030 12345 - 030 12346`, there are two.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from drumbeat.campaigns.phones.numbering_plan import DIGITS_MAX

EXTENSION = "phone_extension"
TWO_NUMBERS = "phone_two_numbers"
AREA_CODE_DIGITS_MAX = (
    5  # no country has longer ones. Plans of variable length call an area code and two digits valid
)
_WHOLE_NUMBER_DIGITS = 7  # an extension has fewer
_BREAK = re.compile(r"[^0-9 .)\-]+(?=.*[0-9])", re.DOTALL)
_GAP = re.compile(r"(?<=[0-9)])[ .\-]+(?=0)")
_ANY_GAP = re.compile(r"(?<=[0-9)])[ .\-]+(?=[0-9(])")
_TWO_NUMBERS_DIGITS_MIN = 2 * (AREA_CODE_DIGITS_MAX + 1)
_AND_OR = re.compile(r"\b(or|oder|and|und|bzw|ou|et|y|e|o)\b", re.IGNORECASE)
_MARK = re.compile(r"[^\W\d_]|[#*(]")  # a letter, as in x12 or Durchwahl 12, or a sign of its own
_BETWEEN = re.compile(r"[;,|&/\\\n\r\t]|:::|\b(?:or|oder|and|und|bzw|ou|et|y|e|o)\b", re.IGNORECASE)


class Second(NamedTuple):
    """The reject code of a text that holds more than one number, and the text of the first one."""

    code: str
    first: str


def second_number(text: str, is_complete: Callable[[str], bool]) -> Second | None:
    """Return what a text holds beside its first number; None if it holds at most one.

    `text` has ASCII digits. `is_complete` tells whether a text is a whole number.
    """
    for found in _BREAK.finditer(text):
        if is_complete(text[: found.start()]):
            return Second(_code(found[0], text[found.start() :]), text[: found.start()])
    return _after_gap(text, is_complete) or _joined(text)


def _after_gap(text: str, is_complete: Callable[[str], bool]) -> Second | None:
    """Return a second number that follows a whole one, with a separator of groups between them."""
    digits = _digits(text)
    if digits < _TWO_NUMBERS_DIGITS_MIN:
        return None
    pattern = _GAP if digits <= DIGITS_MAX else _ANY_GAP  # with more digits, it is no one number
    gaps = (
        gap
        for gap in pattern.finditer(text)
        if is_complete(text[gap.end() :]) and is_complete(text[: gap.start()])
    )
    return next((Second(TWO_NUMBERS, text[: gap.start()]) for gap in gaps), None)


def _joined(text: str) -> Second | None:
    """Return a second number that is as long as one, whether or not the first is known to be whole."""
    parts = [part for part in _BETWEEN.split(text) if _digits(part) >= _WHOLE_NUMBER_DIGITS]
    return Second(TWO_NUMBERS, parts[0]) if len(parts) > 1 else None


def _code(between: str, rest: str) -> str:
    if _digits(rest) >= _WHOLE_NUMBER_DIGITS or _AND_OR.search(between):
        return TWO_NUMBERS
    return EXTENSION if _MARK.search(between) else TWO_NUMBERS


def _digits(text: str) -> int:
    return sum(map(str.isdigit, text))
