"""The kind of a phone: mobile, landline, toll-free, premium, satellite or another one, by its digits alone.

`phonenumbers` decides, as it does about valid numbers. It takes 50 µs for a number, so its patterns are
compiled for the numbers of one length that begin alike: one of them takes half a microsecond, and most
beginnings have mobile numbers alone.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata

_HEAD_DIGITS = 3


class Kind(StrEnum):
    """A kind of phone. MOBILE includes numbers that may be either mobile or landline, as in North America."""

    MOBILE = "mobile"
    LANDLINE = "landline"
    TOLL_FREE = "toll-free"
    PREMIUM = "premium"
    SATELLITE = "satellite"
    OTHER = "other"


# The descriptions of the metadata: mobile first, because nearly every recipient is one, then in the library's
# order.
_DESCRIPTIONS = (
    ("mobile", Kind.MOBILE),
    ("premium_rate", Kind.PREMIUM),
    ("toll_free", Kind.TOLL_FREE),
    *((name, Kind.OTHER) for name in ("shared_cost", "voip", "personal_number", "pager", "uan", "voicemail")),
    ("fixed_line", Kind.LANDLINE),
)
# The metadata call satellite phones mobile ones. 882 is of several networks, two of them with satellites.
_SATELLITES = ("870", "881", "88213", "88216")


class Mixed(NamedTuple):
    """A rule for numbers of several kinds: `kinds` has the kind of each group of the pattern."""

    fullmatch: Callable[[str], re.Match[str] | None]
    kinds: Sequence[Kind]


def kinds_of(phones: Iterable[str]) -> list[Kind]:
    """Return the kind of each valid phone, given in digits of E.164."""
    return [
        _kind(rule, phone) if isinstance(rule := _RULES[len(phone), phone[:_HEAD_DIGITS]], Mixed) else rule
        for phone in phones
    ]


def only_kind(digits: int, beginning: str) -> Kind | None:
    """Return the kind of all phones with so many digits that begin so; None if they have several."""
    rule = _RULES[digits, beginning[:_HEAD_DIGITS]]
    return None if isinstance(rule, Mixed) else rule


def _kind(rule: Mixed, phone: str) -> Kind:
    found = rule.fullmatch(phone)
    return Kind.OTHER if found is None or found.lastindex is None else rule.kinds[found.lastindex - 1]


class _Rules(dict[tuple[int, str], Kind | Mixed]):
    """The rules by the length and the first digits of a number, made at first use."""

    def __missing__(self, key: tuple[int, str]) -> Kind | Mixed:
        self[key] = rule = _rule(*key)
        return rule


_RULES = _Rules()


def _rule(length: int, head: str) -> Kind | Mixed:
    if head in _SATELLITES:
        return Kind.SATELLITE
    if satellites := "|".join(code for code in _SATELLITES if code.startswith(head)):
        return _mixed("", [(Kind.SATELLITE, f"(?:{satellites})[0-9]*")])
    codes = (head[:digits] for digits in (1, 2, 3))
    code = next((code for code in codes if int(code or 0) in COUNTRY_CODE_TO_REGION_CODE), None)
    if code is None:
        return Kind.OTHER
    kinds = list(_patterns(code, length - len(code)))
    if {kind for kind, _ in kinds} <= {Kind.MOBILE}:
        return Kind.MOBILE if kinds else Kind.OTHER
    return _mixed(code, kinds)


def _mixed(code: str, kinds: Sequence[tuple[Kind, str]]) -> Mixed:
    grouped = "|".join(f"({pattern})" for _, pattern in kinds)
    return Mixed(re.compile(f"{code}(?:{grouped})", re.ASCII).fullmatch, [kind for kind, _ in kinds])


def _patterns(code: str, length: int) -> Iterator[tuple[Kind, str]]:
    """Give the patterns of a calling code for numbers of this length, those asked first in front."""
    for name, kind in _DESCRIPTIONS:
        patterns = []
        for metadata in _metadata(code):
            description = getattr(metadata, name)
            lengths = description.possible_length if description is not None else ()
            if description is not None and description.national_number_pattern and length in lengths:
                patterns.append(description.national_number_pattern)
        if patterns:
            yield kind, "|".join(dict.fromkeys(patterns))


def _metadata(code: str) -> Iterator[PhoneMetadata]:
    for region in COUNTRY_CODE_TO_REGION_CODE[int(code)]:
        if region == "001":
            found = PhoneMetadata.metadata_for_nongeo_region(int(code), None)
        else:
            found = PhoneMetadata.metadata_for_region(region, None)
        if found is not None:
            yield found
