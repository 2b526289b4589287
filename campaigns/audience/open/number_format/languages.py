"""The names of months, days and half days in the language of a format."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from locale import windows_locale

_HEX = re.compile(r"[0-9a-f]{1,8}")
_NAME = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8})*")
# Excel's numbers of the Gregorian calendar and its translations; 0 is the one of the language.
_GREGORIAN = frozenset({0x00, 0x01, 0x02, 0x09, 0x0A, 0x0B, 0x0C})


@dataclass(frozen=True, slots=True)
class Names:
    """The names in one language. The first month is January, the first day Monday. `months_of_date` stand
    beside a day, such as the Russian genitive.
    """

    months: Sequence[str]
    months_of_date: Sequence[str]
    short_months: Sequence[str]
    days: Sequence[str]
    short_days: Sequence[str]
    half_days: tuple[str, str]


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
ENGLISH = Names(
    _MONTHS,
    _MONTHS,
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    ("AM", "PM"),
)  # fmt: skip


@cache
def names_in(language: str) -> Names | None:
    """Return the names in a language: a Windows code such as 407, or a name such as de-DE. None: not known,
    or of another calendar or other digits.
    """
    if (identifier := _identifier(language)) is None:
        return None
    from babel import Locale, UnknownLocaleError

    try:
        locale = Locale.parse(identifier)
    except (UnknownLocaleError, ValueError):
        return None
    half_days = locale.day_periods["format"]["abbreviated"]
    return Names(
        _ordered(locale.months["stand-alone"]["wide"]),
        _ordered(locale.months["format"]["wide"]),
        _ordered(locale.months["format"]["abbreviated"]),
        _ordered(locale.days["format"]["wide"]),
        _ordered(locale.days["format"]["abbreviated"]),
        (half_days["am"], half_days["pm"]),
    )


def _ordered(names: Mapping[int, str]) -> list[str]:
    return [names[number] for number in sorted(names)]


def _identifier(language: str) -> str | None:
    """Return the name of a locale, such as de_DE. A Windows code also has a calendar and a form of digits."""
    if _HEX.fullmatch(language):
        number = int(language, 16)
        if number >> 24 > 1 or number >> 16 & 0xFF not in _GREGORIAN:
            return None
        # FC19 is Russian, as 419 is, with the genitive of months.
        return windows_locale.get(number & 0xFFFF) or windows_locale.get(number & 0x3FF | 0x400)
    return language.replace("-", "_") if _NAME.fullmatch(language) else None
