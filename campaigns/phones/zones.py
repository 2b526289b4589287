"""The time zones of a phone: of its area code if the metadata know it, else all zones of its country.

Law: a zone is never guessed. A phone without a country has no zone, and gets nothing at its local time.
"""

from functools import cache
from importlib.resources import files

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE
from phonenumbers.tzdata import TIMEZONE_DATA, TIMEZONE_LONGEST_PREFIX

# The first digits and the length of a number decide whether it belongs to a place. The library takes about
# 60 µs to decide, so it is asked once for all phones that begin alike.
_HEAD_DIGITS = 7
_HEAD_DIGITS_SHARED = 8  # of a calling code that several countries share, but +1, where four name one
# Regions of phone numbers without a row in the tz database's table: the country whose time they keep.
_KEEPS_TIME_OF = {"AC": "SH", "TA": "SH", "XK": "RS"}


class RecipientZones:
    """The zones of phones as one text, names divided by commas; None for a phone without a country."""

    def __init__(self) -> None:
        self._heads: dict[tuple[str, int], _Head] = {}

    def of(self, phone: str) -> str | None:
        """Return the zones of a phone in digits of E.164; None if none is known."""
        key = phone[: _head_digits(phone[:3])], len(phone)
        head = self._heads.get(key)
        if head is None:
            head = self._heads[key] = _Head(phone)
        return (head.is_of_a_place and _zones_of_area(phone)) or head.zones_of_country


class _Head:
    """The facts that all phones with the same beginning share."""

    __slots__ = ("is_of_a_place", "zones_of_country")

    def __init__(self, phone: str) -> None:
        number = phonenumbers.parse(f"+{phone}", None)
        self.is_of_a_place = phonenumbers.is_number_geographical(number)
        region = phonenumbers.region_code_for_number(number)
        self.zones_of_country = zones_of_country(region or "")


@cache
def _head_digits(beginning: str) -> int:
    """Return how many first digits decide the zones of a phone. `beginning` has its first three digits."""
    codes = (int(beginning[:length]) for length in (2, 3))
    shared = any(len(COUNTRY_CODE_TO_REGION_CODE.get(code, ())) > 1 for code in codes)
    return _HEAD_DIGITS_SHARED if shared or beginning.startswith("7") else _HEAD_DIGITS


def _zones_of_area(phone: str) -> str | None:
    """Return the zones of the longest beginning of the phone that the metadata know."""
    for digits in range(TIMEZONE_LONGEST_PREFIX, 1, -1):
        if (zones := TIMEZONE_DATA.get(phone[:digits])) is not None:
            return _as_text(zones)
    return None


@cache
def _as_text(zones: tuple[str, ...]) -> str:
    return ",".join(sorted(zones))


def zones_of_country(region: str) -> str | None:
    """Return all zones of a country, by its two letters."""
    return _zones_by_country().get(_KEEPS_TIME_OF.get(region, region))


@cache
def _zones_by_country() -> dict[str, str]:
    """Return the zones of each country, by its two letters, from the table of the tz database."""
    table: dict[str, list[str]] = {}
    for line in files("tzdata.zoneinfo").joinpath("zone.tab").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            country, _, zone, *_ = line.split("\t")
            table.setdefault(country, []).append(zone)
    return {country: _as_text(tuple(zones)) for country, zones in table.items()}
