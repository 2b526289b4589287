"""A normaliser that turns phone numbers as people write them into the digits of E.164.

A number is accepted if the library `phonenumbers` parses it and finds it valid, with the digits it returns.
"""

import re
from collections.abc import Iterable
from unicodedata import category, decimal

from drumbeat.campaigns.phones.mobile_forms import MobileForms
from drumbeat.campaigns.phones.numbering_plan import (
    DIGITS_MAX,
    DIGITS_MIN,
    INTERNATIONAL,
    ask_library,
    known_region,
    plan_of,
)
from drumbeat.campaigns.phones.second_number import AREA_CODE_DIGITS_MAX, second_number
from drumbeat.campaigns.reject import REASONS
from drumbeat.engine.errors import UsageError

CELL_CHARACTERS_MAX = 64  # longer than any number with its separators

_SCIENTIFIC = re.compile(r"([+-]?)(\d+)(?:[.,](\d+))?[eE]([+-]?\d+)")
_WHOLE_FLOAT = re.compile(r"(\d+)\.0")  # a whole number from a floating-point column
_AS_FORMULA = re.compile(r'="(.*)"')  # keeps a spreadsheet from rounding the number
_WRONG_DIGITS = ("phone_invalid", "phone_not_in_region", "phone_decimal", "phone_too_short", "phone_too_long")
_SHAPE = re.compile(r"[ (]*(\+?)([0-9 ().\-/]*)")
_SEPARATORS = str.maketrans("", "", " ().-/")
# Characters that replace a separator or a plus, by Unicode category or by character.
_BY_CATEGORY = {"Cf": "", "Zs": " ", "Pd": "-"}  # Cf: invisible marks that a copied contact card may have
_BY_CHARACTER = {
    "\u2212": "-",
    "\uff0b": "+",
    "\uff08": "(",
    "\uff09": ")",
    "\uff0f": "/",
    "\uff0e": ".",
}


class Normaliser:
    """A normaliser for the phones of one audience. `region` (two letters) is the country of national numbers.

    `as_mobile` are the countries whose numbers are all mobile ones; see `mobile_forms`.
    """

    def __init__(self, region: str | None = None, as_mobile: tuple[str, ...] = ()) -> None:
        self._mobile = MobileForms(as_mobile, region) if as_mobile else None
        self._region = None if region is None else known_region(region)
        self._plain = INTERNATIONAL if self._region is None else self._region.plain

    def normalise(self, text: str) -> int | str:
        """Return the digits of E.164 as an integer, or a reject code (see `reject_file.REASONS`).

        With a region, a number is first read as national, then as international.
        """
        return self.normalise_all((text,))[0]

    def normalise_all(self, texts: Iterable[str]) -> list[int | str]:
        """Normalise many texts as `normalise` does. A call for each would cost a tenth more."""
        if self._mobile is not None:
            return [self._as_mobile(text, self._mobile) for text in texts]
        return self._all(texts)

    def _all(self, texts: Iterable[str]) -> list[int | str]:
        plain_of = self._plain
        return [
            int(plain.code + text)
            if (plain := plain_of[len(text)][text[:3]]) is not None and plain.fullmatch(text) is not None
            else self._of_any(text)
            for text in texts
        ]

    def _as_mobile(self, text: str, mobile: MobileForms) -> int | str:
        (found,) = self._all((text,))
        if isinstance(found, str) and found not in _WRONG_DIGITS:
            return found
        return _repaired(found, _in_ascii(_unwrapped(text.strip())), mobile)

    def _of_any(self, text: str) -> int | str:
        found = self._of_digits(text) if text.isascii() and text.isdigit() else self._of_text(text.strip())
        return "phone_not_in_region" if found == "phone_invalid" and self._region is not None else found

    def _of_text(self, text: str) -> int | str:
        if not text:
            return "phone_empty"
        if len(text) > CELL_CHARACTERS_MAX:
            return "phone_malformed"
        if (scientific := _SCIENTIFIC.fullmatch(text)) is not None:
            return self._of_scientific(*scientific.groups())
        unwrapped = _unwrapped(text)
        whole = _WHOLE_FLOAT.fullmatch(unwrapped)
        found = self._of_written(_in_ascii(whole[1] if whole else unwrapped).strip())
        return "phone_decimal" if whole and isinstance(found, str) else found

    def _of_scientific(self, sign: str, whole: str, fraction: str | None, exponent: str) -> int | str:
        """Return the number if all of its digits are there: 4.91701234567E+11 is 491701234567, but 4.917E+11
        has lost some.
        """
        fraction, shift = fraction or "", int(exponent)
        if sign == "-" or not 0 < shift <= len(fraction) or fraction[shift:].strip("0"):
            return "phone_scientific"
        return self._of_written(sign + whole + fraction[:shift])

    def _of_written(self, text: str) -> int | str:
        return second_number(text, self._is_complete) or self._of_one(text.replace("\t", " "))

    def _is_complete(self, text: str) -> bool:
        """Return whether the text is a whole number, and no area code with the first digits after it."""
        found = self._of_one(text)
        if isinstance(found, str) and self._mobile is not None:
            found = _repaired(found, text, self._mobile)
        return isinstance(found, int) and _national_digits(found) > AREA_CODE_DIGITS_MAX

    def _of_one(self, text: str) -> int | str:
        shape = _SHAPE.fullmatch(text)
        digits = "" if shape is None else shape[2].translate(_SEPARATORS)
        if shape is None or not digits:
            return "phone_malformed"
        return _international(digits) if shape[1] else self._of_digits(digits)

    def _of_digits(self, digits: str) -> int | str:
        if digits.startswith("00"):
            found = _international(digits[2:])
            national = found if self._region is None or isinstance(found, int) else self._of_national(digits)
            return national if isinstance(national, int) else found
        if self._region is None:
            return _international(digits)
        return self._of_national(digits)

    def _of_national(self, digits: str) -> int | str:
        assert self._region is not None
        if len(digits) > DIGITS_MAX + 5:  # 00 and a carrier's code may come first
            return "phone_too_long"
        found = self._region.number(digits)
        return _international(digits) if found is None else found


def _in_ascii(text: str) -> str:
    """Return the number with ASCII digits, separators and plus. Keyboards and scripts have others."""
    if text.isascii():
        return text
    return "".join(map(_character_in_ascii, text))


def _character_in_ascii(character: str) -> str:
    if (digit := decimal(character, None)) is not None:
        return str(digit)
    found = _BY_CHARACTER.get(character, character)
    return _BY_CATEGORY.get(category(found), found) if found == character else found


def _unwrapped(text: str) -> str:
    """Remove what spreadsheets and exports put around a number that is kept as text."""
    text = text.removeprefix("'")
    if (formula := _AS_FORMULA.fullmatch(text)) is not None:
        text = formula[1].strip()
    return text


def _repaired(found: int | str, written: str, mobile: MobileForms) -> int | str:
    """Return the mobile number that `written` stands for, or else what was found for it."""
    if isinstance(found, int):
        repaired = mobile.repaired(str(found), may_be_national=False)
    else:
        digits = "".join(filter(str.isdigit, written)).removeprefix("00")
        repaired = mobile.repaired(digits, may_be_national=not written.lstrip(" (").startswith(("+", "00")))
    number = found if repaired is None else _international(repaired)
    return number if isinstance(number, int) else found


def _national_digits(number: int) -> int:
    plan = plan_of(str(number))
    return 0 if plan is None else len(str(number)) - len(plan.code)


def _international(digits: str) -> int | str:
    if len(digits) < DIGITS_MIN:
        return "phone_too_short"
    if (plan := plan_of(digits)) is None:
        return _problem(digits)
    known = plan.is_valid(digits[len(plan.code) :])
    number = ask_library("+" + digits, None) if known is None else int(digits) if known else None
    return _problem(digits) if number is None else number


def _problem(digits: str) -> str:
    return "phone_too_long" if len(digits) > DIGITS_MAX else "phone_invalid"


def read_phone(text: str, region: str | None) -> int:
    """Return the digits of a phone. Raise UsageError if it cannot be read."""
    phone = Normaliser(region).normalise(text)
    if isinstance(phone, str):
        raise UsageError(f"the phone {text!r} cannot be read: {REASONS[phone]}")
    return phone
