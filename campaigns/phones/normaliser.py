"""A normaliser that turns phone numbers as people write them into the digits of E.164.

A number is accepted if the library `phonenumbers` parses it and finds it valid, with the digits it returns.
"""

import re
from collections.abc import Iterable, Sequence
from unicodedata import category, decimal

from drumbeat.campaigns.phones.numbering_plan import (
    DIGITS_MAX,
    DIGITS_MIN,
    INTERNATIONAL,
    WORLD,
    ask_library,
    known_region,
    plan_of,
)
from drumbeat.campaigns.phones.old_numbers import EVERY_CHANGE, OLD_CODES, known_changes, old_candidates
from drumbeat.campaigns.phones.second_number import AREA_CODE_DIGITS_MAX, TWO_NUMBERS, second_number
from drumbeat.campaigns.phones.spelling import LABEL, LETTERS, digits_and_letters, unlabelled
from drumbeat.campaigns.reject import REASONS, code_of_old
from drumbeat.engine.core.phone_aliases import country_of_old, today_form
from drumbeat.engine.errors import UsageError

CELL_CHARACTERS_MAX = 128  # longer than two numbers with labels, and than a link to a chat

_SCIENTIFIC = re.compile(r"([+-]?)(\d+)(?:[.,](\d+))?[eE]([+-]?\d+)")
_WHOLE_FLOAT = re.compile(r"(\d+)\.0")  # a whole number from a floating-point column
_AS_FORMULA = re.compile(r'="(.*)"')  # keeps a spreadsheet from rounding the number
# Codes of digits that are no number of today; they may be one of an earlier numbering plan.
_WRONG_DIGITS = frozenset(
    ("phone_invalid", "phone_not_in_region", "phone_decimal", "phone_too_short", "phone_too_long")
)
_SHAPE = re.compile(r"[ (]*(\+?)([0-9 ().\-/]*)")
_SEPARATORS = str.maketrans("", "", " ().-/")
_PLUSES = re.compile(r"^([ (]*)\+[ +]*\+")
_TRUNK = re.compile(r"\( *0 *\)")  # as in +44 (0)20, a digit that is dialled only at home
# Codes for calls abroad that no other number with as many digits begins with: of America and of Australia.
_EXIT_CODES = ("011", "0011")
_ABROAD_DIGITS_MIN = 10
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
    With WORLD, as without a region, there are none.

    `repairs` are countries whose old numbers are brought to today's form; see `old_numbers`.
    `first_number` takes the first of two numbers in a cell.
    """

    def __init__(
        self, region: str | None = None, repairs: Sequence[str] = (), *, first_number: bool = False
    ) -> None:
        self._repairs = known_changes(repairs)
        self._takes_first = first_number
        self._region = None if region in (None, WORLD) else known_region(region)
        self._plain = INTERNATIONAL if self._region is None else self._region.plain

    def normalise(self, text: str) -> int | str:
        """Return the digits of E.164 as an integer, or a reject code (see `reject_file.REASONS`).

        With a region, a number is first read as national, then as international.
        """
        return self.normalise_all((text,))[0]

    def normalise_all(self, texts: Iterable[str]) -> list[int | str]:
        """Normalise many texts as `normalise` does. A call for each would cost a tenth more."""
        plain_of = self._plain
        found = [
            int(plain.code + text)
            if (plain := plain_of[len(text)][text[:3]]) is not None and plain.fullmatch(text) is not None
            else self._of_any(text)
            for text in texts
        ]
        return [self._today(each) for each in found] if self._repairs else found

    def _today(self, found: int | str) -> int | str:
        """Return today's form of a number that is valid in both forms."""
        today = today_form(str(found), self._repairs) if isinstance(found, int) else None
        return found if today is None or not isinstance(number := _international(today), int) else number

    def _of_any(self, text: str) -> int | str:
        digits = text.removeprefix("+")
        # Digits with or without a plus hold one number, and nothing beside it: exports write them so.
        is_one = text.isascii() and digits.isdigit()
        if is_one and digits is not text and _is_plain(digits):
            return int(digits)
        found = self._in_any_form(text) if is_one else self._of_text(text.strip())
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
        found = self._of_labelled(_in_ascii(whole[1] if whole else unwrapped).strip())
        return "phone_decimal" if whole and found in _WRONG_DIGITS else found

    def _of_scientific(self, sign: str, whole: str, fraction: str | None, exponent: str) -> int | str:
        """Return the number if all of its digits are there: 4.91701234567E+11 is 491701234567, but 4.917E+11
        has lost some.
        """
        fraction, shift = fraction or "", int(exponent)
        if sign == "-" or not 0 < shift <= len(fraction) or fraction[shift:].strip("0"):
            return "phone_scientific"
        return self._of_written(sign + whole + fraction[:shift])

    def _of_labelled(self, text: str) -> int | str:
        number, code = unlabelled(text)
        if code is None:
            return self._of_written(number)
        return LETTERS if code == LABEL and not self._is_complete(number) else code

    def _of_written(self, text: str) -> int | str:
        if (second := second_number(text, self._is_complete)) is None:
            return self._in_any_form(text.replace("\t", " "))
        if second.code == TWO_NUMBERS and self._takes_first:
            return self._in_any_form(second.first)
        return second.code

    def _is_complete(self, text: str) -> bool:
        """Return whether the text is a whole number, and no area code with the first digits after it."""
        found = self._in_any_form(text)
        if isinstance(found, int):
            return _national_digits(found) > AREA_CODE_DIGITS_MAX
        return found in OLD_CODES

    def _in_any_form(self, text: str) -> int | str:
        """Return the number in the form of today, or of an earlier numbering plan if that is repaired."""
        found = self._of_one(text)
        if isinstance(found, str) and _TRUNK.search(text):
            found = self._of_one(_TRUNK.sub("", text, count=1))
        if found not in _WRONG_DIGITS:
            return found
        code = None if self._region is None else self._region.code
        for digits in old_candidates(text, code):
            today = today_form(digits)
            if today is not None and isinstance(number := _international(today), int):
                country = country_of_old(digits) or ""
                return number if country in self._repairs else code_of_old(country)
        return found

    def _of_one(self, text: str) -> int | str:
        shape = _SHAPE.fullmatch(_PLUSES.sub(r"\1+", text))
        digits = "" if shape is None else shape[2].translate(_SEPARATORS)
        if shape is None or not digits:
            return LETTERS if digits_and_letters(text) else "phone_malformed"
        return _international(digits.removeprefix("00")) if shape[1] else self._of_digits(digits)

    def _of_digits(self, digits: str) -> int | str:
        if digits.startswith("00"):
            found = _international(digits[2:])
            national = found if self._region is None or isinstance(found, int) else self._of_national(digits)
            found = national if isinstance(national, int) else found
        elif self._region is None:
            found = _international(digits)
        else:
            found = self._of_national(digits)
        return _abroad(digits) or found if isinstance(found, str) else found

    def _of_national(self, digits: str) -> int | str:
        assert self._region is not None
        if len(digits) > DIGITS_MAX + 5:  # 00 and a carrier's code may come first
            return "phone_too_long"
        found = self._region.number(digits)
        return _international(digits) if found is None else found


def _abroad(digits: str) -> int | None:
    """Return the number after a code for calls abroad, if there is one."""
    rests = (digits[len(code) :] for code in _EXIT_CODES if digits.startswith(code))
    found = [_international(rest) for rest in rests if len(rest) >= _ABROAD_DIGITS_MIN]
    return next((number for number in found if isinstance(number, int)), None)


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


def _national_digits(number: int) -> int:
    plan = plan_of(str(number))
    return 0 if plan is None else len(str(number)) - len(plan.code)


def _is_plain(digits: str) -> bool:
    """Return whether digits surely are an international number. Quick; it may refuse others."""
    plain = INTERNATIONAL[len(digits)][digits[:3]]
    return plain is not None and plain.fullmatch(digits) is not None


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
    """Return the digits of a phone, of an old number today's. Raise UsageError if it cannot be read."""
    return read_phone_with(Normaliser(region, EVERY_CHANGE), text, region)


def read_phone_with(normaliser: Normaliser, text: str, region: str | None) -> int:
    """Return the digits of a phone. Raise UsageError if it cannot be read."""
    phone = normaliser.normalise(text)
    if isinstance(phone, str):
        national = "" if region else "for a national number, name the country with {region}"
        raise UsageError(
            f"the phone {{text!r}} cannot be read: {REASONS[phone]}", remedy=national, values={"text": text}
        )
    return phone
