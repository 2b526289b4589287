"""The phone aliases: two numbers that reach the same phone, of today's numbering plan and of an earlier one.
The service may report either, and files hold both.

Law: an account of the service keeps the number with which it was made, so neither form is ever dropped. Each
change is one row of CHANGES, which the database knows too (`phone_spellings` and `canonical_phone` in SQL).
"""

import re
from bisect import bisect
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import NamedTuple


class Change(NamedTuple):
    """A change of a country's numbering plan, or a part of it. `old` and `new` are patterns of whole numbers
    in digits of E.164; `to_new` and `to_old` are what a number of the other form becomes.

    All old forms have `old_digits` digits and begin with `old_head`.
    """

    country: str
    old_head: str
    old_digits: int
    old: str
    to_new: str
    new: str
    to_old: str


def _inserted(country: str, code: str, kept: str, digits: str, length: int) -> Change:
    """Return a change that put digits between the calling code and the rest, whose pattern is `kept`."""
    return Change(
        country, code, len(code) + length, f"{code}({kept})", rf"{code}{digits}\1", f"{code}{digits}({kept})",
        rf"{code}\1",
    )  # fmt: skip


def _replaced(country: str, code: str, old: str, new: str, kept: str, length: int) -> Change:
    """Return a change of the digits after the calling code. `length` counts the rest, whose pattern is
    `kept`.
    """
    head = code + old
    return Change(
        country, head, len(head) + length, f"{head}({kept})", rf"{code}{new}\1", f"{code}{new}({kept})",
        rf"{head}\1",
    )  # fmt: skip


CHANGES = (
    # 2012 to 2016: a 9 after the area code of mobile numbers.
    Change(
        "BR",
        "55",
        12,
        r"55([0-9]{2})([6-9][0-9]{7})",
        r"55\g<1>9\2",
        r"55([0-9]{2})9([6-9][0-9]{7})",
        r"55\1\2",
    ),
    _replaced("MX", "52", "1", "", "[0-9]{10}", 10),  # 2019: no 1 before mobile numbers called from abroad
    _inserted("AR", "54", "[0-9]{10}", "9", 10),  # not a change: a 9 before mobile numbers called from abroad
    # 31 January 2021: two digits for the operator, which the former second (mobile) or third (fixed) digit
    # names.
    _inserted("CI", "225", "[04-9][7-9][0-9]{6}", "07", 8),
    _inserted("CI", "225", "[04-9][4-6][0-9]{6}", "05", 8),
    _inserted("CI", "225", "[04-9][0-3][0-9]{6}", "01", 8),
    _inserted("CI", "225", "[23][0-9][1-79][0-9]{5}", "27", 8),
    _inserted("CI", "225", "[23][0-9]0[0-9]{5}", "25", 8),
    _inserted("CI", "225", "[23][0-9]8[0-9]{5}", "21", 8),
    _inserted("BJ", "229", "[2-9][0-9]{7}", "01", 8),  # 30 November 2024
    # 15 November 2019: the 0 became the operator's 6 or 7, or 1 for fixed lines.
    _replaced("GA", "241", "0", "6", "[256][0-9]{6}", 7),
    _replaced("GA", "241", "0", "7", "[47][0-9]{6}", 7),
    _replaced("GA", "241", "0", "1", "1[0-9]{6}", 7),
    # 21 November 2014: a 6 before mobile numbers, a 2 before fixed lines.
    _inserted("CM", "237", "[679][0-9]{7}", "6", 8),
    _inserted("CM", "237", "(?:22|33)[0-9]{6}", "2", 8),
    _inserted("MU", "230", "[79][0-9]{6}", "5", 7),  # 1 September 2013, mobile numbers
    _inserted("CO", "57", "(?:[125-8][0-9]|4[0-57-9])[0-9]{6}", "60", 8),  # 1 September 2021, fixed lines
    # 15 September 2018: mobile numbers of eleven digits got ten, with the 0 that is dialled at home.
    _replaced("VN", "84", "12", "7", "[068][0-9]{7}", 8),
    _replaced("VN", "84", "121", "79", "[0-9]{7}", 7),
    _replaced("VN", "84", "122", "77", "[0-9]{7}", 7),
    _replaced("VN", "84", "12", "8", "[3-5][0-9]{7}", 8),
    _replaced("VN", "84", "127", "81", "[0-9]{7}", 7),
    _replaced("VN", "84", "129", "82", "[0-9]{7}", 7),
    _replaced("VN", "84", "16", "3", "[2-9][0-9]{7}", 8),
    _replaced("VN", "84", "18", "5", "[68][0-9]{7}", 8),
    _replaced("VN", "84", "199", "59", "[0-9]{7}", 7),
)
# Country → what changed, in words.
WHAT_CHANGED = {
    "BR": "Brazil added a 9 after the area code of mobile numbers (2012 to 2016)",
    "MX": "Mexico removed the 1 after 52 (2019)",
    "AR": "Argentina has a 9 after 54 in mobile numbers that are called from abroad",
    "CI": "Ivory Coast added two digits in front of its numbers (January 2021)",
    "BJ": "Benin added 01 in front of its numbers (November 2024)",
    "GA": "Gabon replaced the 0 in front of its numbers (November 2019)",
    "CM": "Cameroon added a digit in front of its numbers (November 2014)",
    "MU": "Mauritius added a 5 in front of mobile numbers (September 2013)",
    "CO": "Colombia added 60 in front of its landlines (September 2021)",
    "VN": "Vietnam shortened its mobile numbers of eleven digits (September 2018)",
}
COUNTRIES = tuple(WHAT_CHANGED)


class _Form(NamedTuple):
    """A pattern of numbers, and what they are in the other form."""

    pattern: re.Pattern[str]
    other: str


def phone_aliases(recipient: str) -> tuple[int, ...]:
    """Return the forms of `recipient` (digits of E.164), itself first; empty for any other text."""
    if not (recipient.isascii() and recipient.isdigit() and len(recipient) <= 15):
        return ()
    other = _other_form(_forms(recipient[:3]), recipient)
    return (int(recipient),) if other is None else (int(recipient), int(other))


def canonical_phone(phone: int) -> int:
    """Return one number for all aliases of a number: that of today's numbering plan."""
    return canonical_phones((phone,))[0]


def canonical_phones(phones: Iterable[int]) -> list[int]:
    """Return the canonical form of each phone."""
    # Nearly no phone lies between two edges, and every row of an audience comes here.
    return [int(today_form(str(phone)) or phone) if bisect(_EDGES, phone) & 1 else phone for phone in phones]


def today_form(digits: str, countries: tuple[str, ...] = COUNTRIES) -> str | None:
    """Return today's form of a number of an earlier plan of these countries; None for any other number."""
    return _other_form(_old_forms(digits[:3], countries), digits)


def country_of_old(digits: str) -> str | None:
    """Return the country whose earlier plan has this number; None if there is none."""
    return next((country for country in COUNTRIES if today_form(digits, (country,)) is not None), None)


def _other_form(forms: tuple[_Form, ...], digits: str) -> str | None:
    found = ((form, form.pattern.fullmatch(digits)) for form in forms)
    return next((match.expand(form.other) for form, match in found if match is not None), None)


@cache
def _old_forms(beginning: str, countries: tuple[str, ...]) -> tuple[_Form, ...]:
    return tuple(
        _Form(re.compile(change.old, re.ASCII), change.to_new)
        for change in CHANGES
        if change.country in countries and _may_begin(change.old_head, beginning)
    )


@cache
def _forms(beginning: str) -> tuple[_Form, ...]:
    new = (
        _Form(re.compile(change.new, re.ASCII), change.to_old)
        for change in CHANGES
        if _may_begin(change.old_head[:2], beginning)
    )
    return (*_old_forms(beginning, COUNTRIES), *new)


def _may_begin(head: str, beginning: str) -> bool:
    return head.startswith(beginning) or beginning.startswith(head)


def _edges() -> list[int]:
    """Return where the old forms of each country begin and end: phones between two edges may be old forms."""
    spans: dict[str, tuple[int, int]] = {}
    for change in CHANGES:
        size = 10 ** (change.old_digits - len(change.old_head))
        begin, end = int(change.old_head) * size, (int(change.old_head) + 1) * size
        others = spans.get(change.country, (begin, end))
        spans[change.country] = min(begin, others[0]), max(end, others[1])
    return sorted(chain.from_iterable(spans.values()))


_EDGES = _edges()
