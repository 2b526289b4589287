"""The reader of a person's phone as the service may write it.

Law: the interface writes plain digits of E.164. Services of this family also write a plus, or signs between
the digits (open point). An id of a person or of a group is no phone, even if it consists of digits.
"""

import re

from drumbeat.engine.core.phone_aliases import phone_aliases

DIGITS_MAX = 15  # of E.164
_SPELLING = re.compile(rf"(?:\+|00)?([1-9][0-9]{{0,{DIGITS_MAX - 1}}})", re.ASCII)
_BETWEEN = str.maketrans("", "", " -./()\u00a0\u2011\u202f")


def phone_digits(text: str) -> str | None:
    """Return the digits of the phone that the text is; None for any other text."""
    if text.startswith("-"):
        return None  # a negative number: the pseudonym of a forgotten person
    found = _SPELLING.fullmatch(text.translate(_BETWEEN))
    return None if found is None else found[1]


def phones_named(text: str | None) -> tuple[int, ...]:
    """Return both aliases of the phone that the text is, its own digits first; empty for any other text."""
    return phone_aliases(phone_digits(text or "") or "")
