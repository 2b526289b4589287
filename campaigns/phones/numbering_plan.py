"""The numbering plans of `phonenumbers`, compiled: which digits are valid for a calling code or a region.

The library decides what is valid. It takes about 56 µs for a number, so its metadata is compiled to patterns:
a pattern for each region takes about 1 µs, and one for each length of plain digits half of that. A number
that the library's rules for national prefixes may change is always given to the library.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata, PhoneNumberDesc

from drumbeat.engine.errors import UsageError

WORLD = "001"  # the region of numbers that all begin with their calling code
DIGITS_MIN, DIGITS_MAX = 7, 15  # E.164 allows 15; the shortest numbers in use have 7 with their country code
_NATIONAL_DIGITS_MIN = 2
# Mobile first: nearly every recipient is one.
_KINDS = (
    *("mobile", "fixed_line", "toll_free", "premium_rate", "voip"),
    *("shared_cost", "personal_number", "pager", "uan", "voicemail"),
)


class Plain(NamedTuple):
    """A rule for plain digits of one length: if `fullmatch` matches, `code` and the digits are the number."""

    fullmatch: Callable[[str], object]
    code: str


class Plains(dict[int, "_PlainsOfLength"]):
    """The fast pattern for a text, by its length and its first three characters; compiled at first use."""

    def __init__(self, plain_of: Callable[[str, int], Plain | None]) -> None:
        super().__init__()
        self._plain_of = plain_of

    def __missing__(self, length: int) -> _PlainsOfLength:
        if length > DIGITS_MAX:
            return self[0]  # nothing has the length 0, so there is no pattern
        of_length = self[length] = _PlainsOfLength(self._plain_of, length)
        return of_length


class _PlainsOfLength(dict[str, "Plain | None"]):
    """The rules of one length by the first three digits, so at most a thousand entries."""

    def __init__(self, plain_of: Callable[[str, int], Plain | None], length: int) -> None:
        super().__init__()
        self._plain_of = plain_of
        self._length = length

    def __missing__(self, head: str) -> Plain | None:
        if len(head) != 3 or not (head.isascii() and head.isdigit()):
            return None
        plain = self[head] = self._plain_of(head, self._length)
        return plain


def _international_plain(head: str, length: int) -> Plain | None:
    if length < DIGITS_MIN or (plan := plan_of(head)) is None:
        return None
    pattern = plan.plain_pattern(length - len(plan.code))
    return None if pattern is None else Plain(_fullmatch(plan.code + pattern), "")


INTERNATIONAL = Plains(_international_plain)


def plan_of(digits: str) -> NumberingPlan | None:
    """Return the plan of the calling code at the start of digits. No code is a prefix of another."""
    plans = (_plan_of_code(digits[:length]) for length in (2, 1, 3))
    return next((plan for plan in plans if plan is not None), None)


@cache
def _plan_of_code(code: str) -> NumberingPlan | None:
    regions = COUNTRY_CODE_TO_REGION_CODE.get(int(code)) if not code.startswith("0") else None
    return None if regions is None else NumberingPlan(code, regions)


class NumberingPlan:
    """The numbers of one calling code, which several regions may share."""

    def __init__(self, code: str, regions: tuple[str, ...]) -> None:
        self.code = code
        metadata = [] if regions == ("001",) else [_metadata(region) for region in regions]
        self._main = metadata[0] if metadata else None
        self._prefix = _prefix_pattern(self._main) if self._main is not None else None
        shared = len(metadata) > 1
        self._regions = [
            (_leading_digits(each) if shared else None, re.compile(_valid(each) or "(?!)"))
            for each in metadata
        ]

    def plain_pattern(self, length: int) -> str | None:
        """Return the pattern for `length` national digits of the code's main region, without a national
        prefix.

        None if no number has this length, or if a prefix rule may change any of them.
        """
        if self._main is None or self._regions[0][0] is not None:
            return None
        valid, untouched = _valid(self._main, length), _untouched(self._prefix)
        return None if valid is None or untouched is None else untouched + valid

    def is_valid(self, national: str) -> bool | None:
        """Return whether the library finds these national digits valid without a change.

        None if its prefix rules may change them, or if the code has no region: then ask the library.
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
    """The plan for numbers as people write them in one region, with or without its calling code."""

    def __init__(self, region: str) -> None:
        self._name = region
        metadata = _metadata(region)
        self.code = str(metadata.country_code)
        self._plan = _plan_of_code(self.code)
        self._own_prefix = _prefix_pattern(metadata)
        self._exit = re.compile(metadata.international_prefix or r"(?!)")
        self._general = re.compile(_general(metadata).national_number_pattern or "(?!)")
        self.plain = Plains(self._plain_of)

    def _plain_of(self, head: str, length: int) -> Plain | None:
        """Return the pattern for digits that no prefix rule changes; it agrees with `number`.

        It may be stricter than necessary: digits that it refuses are given to `number`.
        """
        coded = head.startswith(self.code)
        national = length - len(self.code) if coded else length
        pattern = None if self._plan is None else self._plan.plain_pattern(national)
        untouched = _untouched(self._own_prefix)
        if pattern is None or untouched is None:
            return None
        if not coded:
            return Plain(_fullmatch(f"(?!{self._exit.pattern}){untouched}{pattern}"), self.code)
        general = self._general.pattern
        alone = f"(?!{self._exit.pattern})(?!(?:{general})$){self.code}"
        return Plain(_fullmatch(f"{alone}(?=(?:{general})$){untouched}{pattern}"), "")

    def number(self, digits: str) -> int | None:
        """Return the digits of E.164; None if they are no number of this region's calling code."""
        national = self._national(digits)
        valid = None if national is None or self._plan is None else self._plan.is_valid(national)
        if valid is None:
            return ask_library(digits, self._name)
        return int(self.code + str(national)) if valid else None

    def _national(self, digits: str) -> str | None:
        """Return the national digits if nothing but the calling code can be in front of them, else None."""
        if self._exit.match(digits) or len(digits) < _NATIONAL_DIGITS_MIN:
            return None
        if not digits.startswith(self.code):
            return None if _matches_something(self._own_prefix, digits) else digits
        national = digits[len(self.code) :]
        if self._general.fullmatch(digits) or not self._general.fullmatch(national):
            return None
        return None if _matches_something(self._own_prefix, national) else national


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
    """Return whether the prefix matches at least one digit. Some prefixes may match nothing."""
    found = prefix.match(digits) if prefix is not None else None
    return found is not None and found.end() > 0


def _untouched(prefix: re.Pattern[str] | None) -> str | None:
    """Return a pattern for "the digits do not begin with this prefix"; None if the prefix may be empty."""
    if prefix is None:
        return ""
    return None if prefix.match("") is not None else f"(?!{prefix.pattern})"


def _valid(metadata: PhoneMetadata, length: int | None = None) -> str | None:
    """Return one pattern for "valid in this region": the general description and any kind of number.

    With `length`, only for numbers of this length, and None if there are none.
    """
    general = _pattern(_general(metadata), length)
    kinds = (getattr(metadata, kind) for kind in _KINDS)
    patterns = [_pattern(kind, length) for kind in kinds if kind is not None and kind.national_number_pattern]
    any_kind = "|".join(pattern for pattern in patterns if pattern is not None)
    return f"(?={general}$)(?:{any_kind})" if general is not None and any_kind else None


def _pattern(kind: PhoneNumberDesc, length: int | None) -> str | None:
    """Return a description's pattern, limited to its possible lengths (-1 stands for no length)."""
    lengths = [each for each in kind.possible_length if each > 0]
    if kind.possible_length and not [each for each in lengths if length in (None, each)]:
        return None
    counted = "|".join(rf"[0-9]{{{each}}}" for each in lengths) if length is None else ""
    held = rf"(?=(?:{counted})$)" if counted else ""
    return f"{held}(?:{kind.national_number_pattern})"


def _fullmatch(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.ASCII).fullmatch


def ask_library(text: str, region: str | None) -> int | None:
    """Ask the library: the digits of E.164, or None if it does not parse the text or finds it invalid."""
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_valid_number(number):
        return None
    return int(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)[1:])


@cache
def known_region(region: str) -> RegionalPlan:
    if region.upper() not in phonenumbers.SUPPORTED_REGIONS:
        raise UsageError(
            f'there is no region "{region}"', remedy="use a two-letter country code, such as BR", key="region"
        )
    return RegionalPlan(region.upper())
