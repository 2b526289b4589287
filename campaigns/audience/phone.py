"""Phone numbers as people write them, to the digits of E.164.

The judge is `phonenumbers`: what it parses and calls valid is accepted, with the digits it says. Asking it
costs about 56 µs a number, so its metadata is compiled once into one pattern a region that answers the plain
cases in about one; whatever its rules on national prefixes could touch still goes to the library itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata, PhoneNumberDesc

from engine.errors import ConfigurationError

DIGITS_MIN, DIGITS_MAX = 7, 15  # E.164 allows 15; the shortest numbers in use have 7 with their country code
CELL_CHARACTERS_MAX = 64  # no number with its separators is longer

_SCIENTIFIC = re.compile(r"[+-]?\d+(?:[.,]\d+)?[eE][+-]?\d+")
_WHOLE_FLOAT = re.compile(r"(\d+)\.0")  # a whole number that passed through a floating-point column
_AS_FORMULA = re.compile(r'="(.*)"')  # how people keep a spreadsheet from rounding it
_SHAPE = re.compile(r"(\+?)([0-9 ().\-/]*)")
_SEPARATORS = str.maketrans("", "", " ().-/")
# Invisible marks that come along when a number is copied from a contact card; typographic spaces, dashes.
_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys(
            "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2069\ufeff\u00ad"
        ),
        **dict.fromkeys("\u00a0\u2000\u2002\u2003\u2007\u2008\u2009\u202f\t", " "),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        "\uff0b": "+",
    }
)
_NATIONAL_DIGITS_MIN = 2
HEADS_MAX = 2_000  # three digits are a thousand; the rest is for what is written otherwise
# Mobile first: nearly every recipient is one.
_KINDS = (
    *("mobile", "fixed_line", "toll_free", "premium_rate", "voip"),
    *("shared_cost", "personal_number", "pager", "uan", "voicemail"),
)


class Normaliser:
    """Normalises the phones of one audience. `region` (two letters) gives national formats their country."""

    def __init__(self, region: str | None = None) -> None:
        self._region = None if region is None else _known_region(region)

    def normalise(self, text: str) -> int | str:
        """The digits of E.164 as an integer, or the code of the problem (see `rejects.REASONS`).

        With a region a number is first read as national there, then as international.
        """
        return self.normalise_all((text,))[0]

    def normalise_all(self, texts: Iterable[str]) -> list[int | str]:
        """As `normalise`, for each of many: the call alone would cost a tenth of what is done for one."""
        if self._region is not None:
            return [self._of_any(text) for text in texts]
        return [
            int(text)
            if (plain := _PLAIN[text[:3]]) is not None and plain(text) is not None
            else self._of_any(text)
            for text in texts
        ]

    def _of_any(self, text: str) -> int | str:
        if text.isascii() and text.isdigit():
            return self._of_digits(text)
        text = text.strip()
        if not text:
            return "phone_empty"
        if len(text) > CELL_CHARACTERS_MAX:
            return "phone_malformed"
        if _SCIENTIFIC.fullmatch(text):
            return "phone_scientific"
        return self._of_written(_unwrapped(text).translate(_TYPOGRAPHY).strip())

    def _of_written(self, text: str) -> int | str:
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
        if len(digits) > DIGITS_MAX + 5:  # 00 and a carrier's code may stand before it
            return "phone_too_long"
        found = self._region.number(digits)
        return _international(digits) if found is None else found


def _unwrapped(text: str) -> str:
    """Without what spreadsheets and exports put around a number kept as text."""
    text = text.removeprefix("'")
    if (formula := _AS_FORMULA.fullmatch(text)) is not None:
        text = formula[1].strip()
    return whole[1] if (whole := _WHOLE_FLOAT.fullmatch(text)) is not None else text


def _international(digits: str) -> int | str:
    if len(digits) < DIGITS_MIN:
        return "phone_too_short"
    for length in (2, 1, 3):
        plan = _plan_of_code(digits[:length])
        if plan is not None:
            known = plan.is_valid(digits[length:])
            found = _ask_library("+" + digits, None) if known is None else int(digits) if known else None
            return _problem(digits) if found is None else found
    return _problem(digits)


def _problem(digits: str) -> str:
    return "phone_too_long" if len(digits) > DIGITS_MAX else "phone_invalid"


def _ask_library(text: str, region: str | None) -> int | None:
    """The reference: parse, then valid; the digits of E.164 or None."""
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_valid_number(number):
        return None
    return int(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)[1:])


@cache
def _plan_of_code(code: str) -> NumberingPlan | None:
    regions = COUNTRY_CODE_TO_REGION_CODE.get(int(code)) if not code.startswith("0") else None
    return None if regions is None else NumberingPlan(regions)


class _PlainByHead(dict[str, "Callable[[str], object] | None"]):
    """The shortest way for what begins with these three characters, made when it is first asked for."""

    def __missing__(self, head: str) -> Callable[[str], object] | None:
        plain = _plain_of(head)
        if len(self) < HEADS_MAX:
            self[head] = plain
        return plain


_PLAIN = _PlainByHead()


def _plain_of(head: str) -> Callable[[str], object] | None:
    """The shortest way for digits that begin with these three: a match says they are valid as they stand."""
    if not (head.isascii() and head.isdigit()):
        return None
    for code in (head[:2], head[:1], head):
        if (plan := _plan_of_code(code)) is not None:
            pattern = plan.plain_pattern
            return None if pattern is None else re.compile(code + pattern, re.ASCII).fullmatch
    return None


class NumberingPlan:
    """The numbers of one calling code, which one or more regions share."""

    def __init__(self, regions: tuple[str, ...]) -> None:
        metadata = [] if regions == ("001",) else [_metadata(region) for region in regions]
        self._prefix = _prefix_pattern(metadata[0]) if metadata else None
        shared = len(metadata) > 1
        self._regions = [
            (_leading_digits(each) if shared else None, _valid_pattern(each)) for each in metadata
        ]

    @property
    def plain_pattern(self) -> str | None:
        """National digits of the code's main region that no prefix rule touches; None where it has none."""
        if not self._regions or self._regions[0][0] is not None:
            return None
        if self._prefix is None:
            return self._regions[0][1].pattern
        optional = self._prefix.match("") is not None
        return None if optional else f"(?!{self._prefix.pattern})(?:{self._regions[0][1].pattern})"

    def is_valid(self, national: str) -> bool | None:
        """Whether the library would call these national digits valid and leave them as they are.

        None: its rules on national prefixes may change them, or the code is no region's; ask the library.
        """
        if not self._regions or _matches_something(self._prefix, national):
            return None
        for leading, valid in self._regions:
            if leading is not None:
                if leading.match(national):
                    return valid.fullmatch(national) is not None
            elif valid.fullmatch(national):
                return True
        return False


class RegionalPlan:
    """Numbers as they are written inside one region: with or without its calling code."""

    def __init__(self, region: str) -> None:
        self._name = region
        metadata = _metadata(region)
        self._code = str(metadata.country_code)
        self._plan = _plan_of_code(self._code)
        self._own_prefix = _prefix_pattern(metadata)
        self._exit = re.compile(metadata.international_prefix or r"(?!)")
        self._general = re.compile(_general(metadata).national_number_pattern or "(?!)")

    def number(self, digits: str) -> int | None:
        """The digits of E.164, or None where they are no number of this region's calling code."""
        national = self._national(digits)
        valid = None if national is None or self._plan is None else self._plan.is_valid(national)
        if valid is None:
            return _ask_library(digits, self._name)
        return int(self._code + str(national)) if valid else None

    def _national(self, digits: str) -> str | None:
        """The national digits where nothing but the calling code can stand before them, else None."""
        if self._exit.match(digits) or len(digits) < _NATIONAL_DIGITS_MIN:
            return None
        if not digits.startswith(self._code):
            return None if _matches_something(self._own_prefix, digits) else digits
        national = digits[len(self._code) :]
        if self._general.fullmatch(digits) or not self._general.fullmatch(national):
            return None
        return None if _matches_something(self._own_prefix, national) else national


@cache
def _known_region(region: str) -> RegionalPlan:
    if region.upper() not in phonenumbers.SUPPORTED_REGIONS:
        raise ConfigurationError(
            f'there is no region "{region}"', remedy="name a country by its two letters, as in --region BR"
        )
    return RegionalPlan(region.upper())


def _metadata(region: str) -> PhoneMetadata:
    found = PhoneMetadata.metadata_for_region(region, None)
    assert found is not None
    return found


def _general(metadata: PhoneMetadata) -> PhoneNumberDesc:
    assert metadata.general_desc is not None
    return metadata.general_desc


def _leading_digits(metadata: PhoneMetadata) -> re.Pattern[str] | None:
    return re.compile(metadata.leading_digits) if metadata.leading_digits else None


def _prefix_pattern(metadata: PhoneMetadata) -> re.Pattern[str] | None:
    prefix = metadata.national_prefix_for_parsing
    return re.compile(prefix) if prefix else None


def _matches_something(prefix: re.Pattern[str] | None, digits: str) -> bool:
    """Some prefixes are optional as a whole; a match of nothing changes nothing."""
    found = prefix.match(digits) if prefix is not None else None
    return found is not None and found.end() > 0


def _valid_pattern(metadata: PhoneMetadata) -> re.Pattern[str]:
    """One pattern for "valid in this region": the general description and any kind of number."""
    kinds = (getattr(metadata, kind) for kind in _KINDS)
    patterns = [_pattern(kind) for kind in kinds if kind is not None and kind.national_number_pattern]
    return re.compile(f"(?={_pattern(_general(metadata))}$)(?:{'|'.join(patterns) or '(?!)'})")


def _pattern(kind: PhoneNumberDesc) -> str:
    """A description's pattern, held to its lengths where it names some (-1 means that there is none)."""
    lengths = "|".join(rf"[0-9]{{{length}}}" for length in kind.possible_length if length > 0)
    held = rf"(?=(?:{lengths})$)" if lengths else "(?!)" if kind.possible_length else ""
    return f"{held}(?:{kind.national_number_pattern})"
