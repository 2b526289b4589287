"""The countries of phone numbers, by their names in the reader's language."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import phonenumbers
from phonenumbers.geodata.locale import LOCALE_DATA


class Country(NamedTuple):
    """A country. `code`: two letters, as `region` takes them. `calling_code`: the digits that numbers from
    abroad begin with.
    """

    code: str
    name: str
    calling_code: int


@cache
def countries(language: str) -> tuple[Country, ...]:
    """Return all countries, by name."""
    found = (
        Country(code, country_name(code, language), phonenumbers.country_code_for_region(code))
        for code in phonenumbers.SUPPORTED_REGIONS
    )
    return tuple(sorted(found, key=lambda country: country.name.casefold()))


def country_name(code: str, language: str) -> str:
    """Return the name of a country; the code itself if it is none, as 001. The data has a name once; other
    languages refer to it as `*aa`.
    """
    names = LOCALE_DATA.get(code, {})
    name = names.get(language, code)
    while name.startswith("*"):
        name = names.get(name[1:], code)
    return name
