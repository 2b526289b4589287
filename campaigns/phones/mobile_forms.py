"""The repair of numbers of countries that changed how their mobile numbers are written.

Brazil added a 9 after the area code. Mexico removed the 1 after 52. Argentina has a 9 after 54 for mobiles
called from abroad; without it, the digits are those of a landline. Files hold both forms. Nothing in a number
says which one is meant, so a person asks for the repair.
"""

from collections.abc import Callable, Mapping

from drumbeat.engine.errors import UsageError

_BRAZILIAN_MOBILE = "6789"  # the first digit of a mobile number before the 9 was added


def _brazilian(digits: str) -> str | None:
    if len(digits) == 12 and digits.startswith("55") and digits[4] in _BRAZILIAN_MOBILE:
        return f"{digits[:4]}9{digits[4:]}"
    return None


def _mexican(digits: str) -> str | None:
    return f"52{digits[3:]}" if len(digits) == 13 and digits.startswith("521") else None


def _argentine(digits: str) -> str | None:
    return f"549{digits[2:]}" if len(digits) == 12 and digits.startswith("54") else None


_REPAIRS: Mapping[str, tuple[str, Callable[[str], str | None]]] = {
    "BR": ("55", _brazilian),
    "MX": ("52", _mexican),
    "AR": ("54", _argentine),
}


class MobileForms:
    """The repairs of some countries. `region` is the country of national numbers. It raises UsageError for
    other countries.
    """

    def __init__(self, countries: tuple[str, ...], region: str | None) -> None:
        wanted = [country.upper() for country in countries]
        if unknown := [country for country in wanted if country not in _REPAIRS]:
            raise UsageError(
                '{as_mobile} does not know "{country}"',
                remedy=f"choose {', '.join(_REPAIRS)}",
                values={"country": unknown[0]},
            )
        self._repairs = [_REPAIRS[country][1] for country in wanted]
        self._code = _REPAIRS[region.upper()][0] if region is not None and region.upper() in wanted else None

    def repaired(self, digits: str, *, may_be_national: bool) -> str | None:
        """Return the mobile number in digits of E.164 that these digits stand for; None if they need no
        repair.

        `may_be_national` says that they may lack the country's code.
        """
        forms = [digits]
        if may_be_national and self._code is not None:
            forms.append(self._code + digits.lstrip("0"))
        found = (repair(form) for form in forms for repair in self._repairs)
        return next((number for number in found if number is not None), None)
