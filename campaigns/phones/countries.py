"""The country of a phone, by its first digits.

Law: a country is that of its calling code. Territories that share one count with its main country, such as
Jersey with GB. The calling codes 1 and 7 are told apart further, by the area code.
"""

from collections import Counter
from collections.abc import Iterable

from phonenumbers import PhoneNumber, region_code_for_country_code, region_code_for_number
from phonenumbers.phonenumberutil import COUNTRY_CODE_TO_REGION_CODE

PREFIX_DIGITS = 5  # enough for a calling code, and for an area code after 1 and 7
_BY_AREA_CODE = (1, 7)
UNKNOWN = "ZZ"


def calling_code(phone: int) -> str:
    """Return the first digits of a phone that name its country. The text is empty if no country has them."""
    digits = str(phone)
    found = (digits[:length] for length in (1, 2, 3))
    return next((code for code in found if phone > 0 and int(code) in COUNTRY_CODE_TO_REGION_CODE), "")


def country_of(phone: int) -> str:
    """Return the ISO code of two letters; ZZ without a calling code, 001 for an international one."""
    code = calling_code(phone)
    if not code:  # the pseudonym of a forgotten person has no code either
        return UNKNOWN
    number = PhoneNumber(country_code=int(code), national_number=int(str(phone)[len(code) :] or 0))
    shared = region_code_for_number(number) if int(code) in _BY_AREA_CODE else None
    return shared or region_code_for_country_code(int(code))


def by_country(samples: Iterable[tuple[int, int]]) -> dict[str, int]:
    """Return the number of recipients by country, the most first. `samples` has a phone for each prefix, and
    how many phones share the prefix.
    """
    counts: Counter[str] = Counter()
    for phone, recipients in samples:
        counts[country_of(phone)] += recipients
    return dict(counts.most_common())
