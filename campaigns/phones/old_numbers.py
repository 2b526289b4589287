"""The numbers of earlier numbering plans: refused with a reason that names the change, or repaired on
request.

`engine/core/phone_aliases.py` has the changes. The 9 of Argentina is no change: without it, the digits are
those of a landline, so only a person can say that they are a mobile number.
"""

import re
from collections.abc import Iterator, Sequence

from drumbeat.campaigns.reject import code_of_old
from drumbeat.engine.core.phone_aliases import COUNTRIES
from drumbeat.engine.errors import UsageError

_UNCLEAR_DIGITS_MAX = 10  # so short, plain digits are rather a national number of another country


OLD_CODES = frozenset(map(code_of_old, COUNTRIES))


# For lists of people who are left out: whoever wrote the number, it names its person. Argentina's landlines
# stay what they are, and are aliases of the mobile numbers anyway.
EVERY_CHANGE = tuple(country for country in COUNTRIES if country != "AR")


def known_changes(countries: Sequence[str]) -> tuple[str, ...]:
    """Return the countries in upper case. Raise UsageError for one whose numbers have no other form."""
    wanted = tuple(country.upper() for country in countries)
    if unknown := [country for country in wanted if country not in COUNTRIES]:
        raise UsageError(
            '{repair_old} does not know "{country}"',
            remedy=f"choose {', '.join(COUNTRIES)}",
            values={"country": unknown[0]},
        )
    return wanted


def old_candidates(written: str, code: str | None) -> Iterator[str]:
    """Give the digits of E.164 that a text may stand for. `code` is the calling code of national numbers."""
    digits = re.sub(r"[^0-9]", "", written)
    if written.lstrip(" (").startswith("+") or digits.startswith("00"):
        yield digits.removeprefix("00")
        return
    if code is not None:
        yield from (digits, code + digits, code + digits.lstrip("0"))
    elif len(digits) > _UNCLEAR_DIGITS_MAX:
        yield digits
