"""The countries and the kinds of phones, counted: what a person compares a list with before it is sent to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from drumbeat.campaigns.phones.countries import country_of
from drumbeat.campaigns.phones.kinds import Kind, kinds_of, only_kind

_HEAD_DIGITS = 4  # a calling code, and after 1 and 7 the area code
_HEAD = itemgetter(slice(0, _HEAD_DIGITS))


@dataclass(slots=True)
class PhoneCounts:
    """The phones by country, in ISO codes as `country_of` gives them, and by kind."""

    countries: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def update(self, others: PhoneCounts) -> None:
        self.countries.update(others.countries)
        self.kinds.update(others.kinds)

    def by_country(self) -> dict[str, int]:
        """Return the counts of the countries, the most first."""
        return dict(self.countries.most_common())

    def by_kind(self) -> dict[str, int]:
        """Return the counts of the kinds that occur, in the order of `Kind`."""
        return {kind.value: self.kinds[kind.value] for kind in Kind if self.kinds[kind.value]}


def count_phones(phones: Iterable[int]) -> PhoneCounts:
    """Count valid phones. Most have the kind of all phones that begin alike, so they are counted together."""
    digits = list(map(str, phones))
    alike = Counter(zip(map(len, digits), map(_HEAD, digits), strict=True))
    counts = PhoneCounts()
    mixed = set()
    for key, number in alike.items():
        counts.countries[_country(key, digits)] += number
        if (kind := only_kind(*key)) is None:
            mixed.add(key)
        else:
            counts.kinds[kind.value] += number
    if mixed:
        rest = (
            digits
            if len(mixed) == len(alike)
            else [phone for phone in digits if (len(phone), phone[:_HEAD_DIGITS]) in mixed]
        )
        counts.kinds.update({kind.value: number for kind, number in Counter(kinds_of(rest)).items()})
    return counts


_COUNTRIES: dict[str, str] = {}  # by the first digits, of which there are at most ten thousand


def _country(key: tuple[int, str], digits: Sequence[str]) -> str:
    _, head = key
    if head not in _COUNTRIES:
        _COUNTRIES[head] = country_of(int(next(phone for phone in digits if phone.startswith(head))))
    return _COUNTRIES[head]
