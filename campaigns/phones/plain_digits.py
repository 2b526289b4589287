"""The question that a list of phones without a country asks: which country do they belong to?

Law: plain digits are not guessed. Of numbers as people write them at home, some are by chance numbers of
another country with its calling code. So the list is judged as a whole: if most of its plain digits are no
international number, or are written as a national one, the others are not meant as international ones either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from phonenumbers import (
    COUNTRY_CODE_TO_REGION_CODE,
    PhoneNumberFormat,
    country_code_for_region,
    format_number,
    parse,
)

from drumbeat.campaigns.phones.kinds import Kind, kinds_of
from drumbeat.campaigns.phones.numbering_plan import WORLD, known_region
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.errors import ConfigurationError

NO_COLUMN = "-"  # instead of a column of countries: none says to whom the phones belong
SAMPLE_MAX = 100  # phones of each sort, enough to know a country by
LINES_MAX = 5
_NO_NUMBER = ("phone_invalid", "phone_not_in_region")
_PLAIN = re.compile(r"[ (]*[0-9][0-9 ().\-/]*")
_SEPARATORS = str.maketrans("", "", " ().-/")
# Ten digits as North America writes them. A calling code would be a group of its own.
_NORTH_AMERICAN = re.compile(r"(?:\([2-9][0-9]{2}\)|[2-9][0-9]{2})[ .\-/]*[2-9][0-9]{2}[ .\-][0-9]{4}")
_NORTH_AMERICA = "1"
_CANDIDATES_SHOWN = 4
_COMPARED = 12  # countries whose way of writing is compared, which takes 60 µs a phone
# Of countries that fit alike, those with most people who get messages come first.
_LARGE_COUNTRIES = """
    US IN BR ID MX DE GB IT ES FR TR AR CO ZA NG PK BD EG SA AE PE CL MY PT NL PL RO KE MA IL AT CH BE
"""
_NATIONAL_SHARE = 0.5  # of the plain digits; below it, the list is international, and has bad rows
_ALL_SHARE = 0.95  # of the plain digits, good ones too, are numbers of one country
_BAD_SHARE_MIN = 0.1
_COLUMN_SHARE = 0.05  # of the plain digits, read as another country than their row names
_COUNTRIES_SHARE = 0.8  # of the cells of a column that names countries


@dataclass(slots=True)
class PlainDigits:
    """The phones of a list for which no option names a country.

    `explicit` phones name theirs. `bad` are no international number, and `chance` are one, but are written as
    a national one. `samples` are of these two, and `good_samples` of the others. `named` counts cells of a
    column that seems to name countries, `unnamed` those that do not; `differs` counts rows in which its
    country has such a number, and the phone was read otherwise. `lines` are the first of them.
    """

    explicit: int = 0
    good: int = 0
    bad: int = 0
    chance: int = 0
    samples: list[str] = field(default_factory=list)
    good_samples: list[str] = field(default_factory=list)
    named: int = 0
    unnamed: int = 0
    differs: int = 0
    lines: list[int] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.good + self.bad + self.chance

    def add_difference(self, line: int) -> None:
        self.differs += 1
        self.lines = [*self.lines, line][:LINES_MAX]

    def update(self, others: PlainDigits) -> None:
        self.explicit += others.explicit
        self.good += others.good
        self.bad += others.bad
        self.chance += others.chance
        self.samples = (self.samples + others.samples)[:SAMPLE_MAX]
        self.good_samples = (self.good_samples + others.good_samples)[:SAMPLE_MAX]
        self.named += others.named
        self.unnamed += others.unnamed
        self.differs += others.differs
        self.lines = (self.lines + others.lines)[:LINES_MAX]


def is_plain(text: str) -> bool:
    """Return whether a phone is written as digits without a plus or 00 that name its country."""
    return _PLAIN.fullmatch(text) is not None and not text.lstrip(" (").startswith("00")


def count_plain(texts: Sequence[str], phones: Sequence[int | str]) -> PlainDigits:
    """Count phones that were read without a country. `phones` has those of the texts, or reject codes."""
    found = PlainDigits()
    read = texts
    if str in set(map(type, phones)):
        read = [text for text, phone in zip(texts, phones, strict=True) if isinstance(phone, int)]
        bad = [text for text, phone in zip(texts, phones, strict=True) if phone in _NO_NUMBER]
        found.samples = [text for text in bad if is_plain(text.strip())]
        found.bad = len(found.samples)
    joined = "\n".join(["", *read])
    by_chance = [text for text in read if _NORTH_AMERICAN.fullmatch(text)] if _has_groups(joined) else []
    found.chance = len(by_chance)
    found.explicit = joined.count("+") + joined.count("\n00")
    found.good = max(0, len(read) - len(by_chance) - found.explicit)
    found.samples = (found.samples + by_chance)[:SAMPLE_MAX]
    found.good_samples = [text for text in read[: 2 * SAMPLE_MAX] if is_plain(text)] if found.good else []
    return found


def _has_groups(text: str) -> bool:
    return " " in text or "-" in text or "." in text


def require_countries(
    plain: PlainDigits, *, region: str | None, country_column: str | None, hint: str | None, where: str
) -> None:
    """Raise ConfigurationError if the list needs a country, which only a person knows. `hint` is the column
    that seems to name countries, and was not used.
    """
    if country_column is None and hint is not None and _contradicts(plain):
        lines = ", ".join(map(str, plain.lines))
        rows = pluralise(plain.differs, "phone is", "phones are")
        raise ConfigurationError(
            '{rows} not of the country that the column "{hint}" names',
            where=f"{where}, line {lines}{', …' if plain.differs > len(plain.lines) else ''}",
            remedy='give {country_column} "{hint}", or {country_column} {no_column} if it does not say where'
            " the phones belong",
            values={"rows": rows, "hint": hint, "no_column": NO_COLUMN},
            key="country_column",
        )
    if region is None and (candidates := _candidates(plain)):
        raise _question(plain, candidates, where)


def _contradicts(plain: PlainDigits) -> bool:
    named = plain.named + plain.unnamed
    return plain.differs > plain.total * _COLUMN_SHARE and plain.named >= named * _COUNTRIES_SHARE


def _question(plain: PlainDigits, candidates: Sequence[tuple[str, int]], where: str) -> ConfigurationError:
    sample = len(plain.samples) + len(plain.good_samples)
    rows = f"the first {sample:,}" if sample < plain.total else f"{plain.total:,}"
    others = f", and {plain.total - plain.bad:,} may be by chance" if plain.total > plain.bad else ""
    first, fits = candidates[0]
    further = ", ".join(f"{fits:,} of {region}" for region, fits in candidates[1:])
    return ConfigurationError(
        f"the phones name no country: {plain.bad:,} of {plain.total:,} are no international number{others};"
        f" {fits:,} of {rows} rows are good as numbers of {first}" + (f" ({further})" if further else ""),
        where=where,
        remedy=f"give {{region}} {first}, or the country of each row with {{country_column}}; if all numbers"
        f" begin with their calling code, give {{region}} {WORLD}",
        values={
            "of": str(min(sample, plain.total)),
            "candidates": " ".join(f"{country}={fits}" for country, fits in candidates),
        },
        key="region",
    )


def _candidates(plain: PlainDigits) -> list[tuple[str, int]]:
    """Return the countries that most of the phones are good numbers of, the likeliest first, each with how
    many; empty if the list needs no country.
    """
    doubtful = plain.bad + plain.chance
    if plain.total <= plain.explicit or doubtful < max(1, plain.total * _BAD_SHARE_MIN):
        return []
    found = _fitting([*plain.samples, *plain.good_samples])
    if doubtful > plain.total * _NATIONAL_SHARE:
        return [(fit.region, fit.numbers) for fit in found if fit.numbers * 2 > len(plain.samples)]
    samples = len(plain.samples) + len(plain.good_samples)
    return [(fit.region, fit.numbers) for fit in found if fit.mobile >= samples * _ALL_SHARE]


@dataclass(frozen=True, slots=True)
class _Fit:
    """A country, with how many samples are its numbers, its mobile numbers, and written as its people do."""

    region: str
    numbers: int
    mobile: int
    written: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        at = _LARGE_COUNTRIES.find(self.region)
        place = at if at >= 0 else len(_LARGE_COUNTRIES)
        return -(self.numbers + self.mobile + 2 * self.written), place


def _fitting(samples: Sequence[str]) -> list[_Fit]:
    """Return the countries that fit the samples best. Nearly all digits are a number of some country whose
    numbers have any length, so mobile numbers and the way of writing count too.
    """
    fits = []
    for code, regions in COUNTRY_CODE_TO_REGION_CODE.items():
        if regions[0] != WORLD:
            national = list(_national(samples, regions[0], str(code)).values())
            fits.append(_Fit(regions[0], len(national), kinds_of(national).count(Kind.MOBILE)))
    best = sorted(fits, key=lambda fit: fit.rank)[:_COMPARED]
    best = [replace(fit, written=_written(samples, fit.region)) for fit in best if fit.numbers]
    return sorted(best, key=lambda fit: fit.rank)[:_CANDIDATES_SHOWN]


def _national(samples: Iterable[str], region: str, code: str) -> dict[str, str]:
    """Return the samples that are national numbers of a country, each with the number in digits of E.164."""
    number = known_region(region).number
    found = {text: str(number(text.strip().translate(_SEPARATORS))) for text in samples}
    return {
        text: phone
        for text, phone in found.items()
        if phone.startswith(code) and phone != text.strip().translate(_SEPARATORS)
    }


def _written(samples: Iterable[str], region: str) -> int:
    """Return how many samples are written exactly as the people of a country write their numbers."""
    code = str(country_code_for_region(region))
    return sum(
        text.strip() == format_number(parse(text, region), PhoneNumberFormat.NATIONAL)
        or (code == _NORTH_AMERICA and _NORTH_AMERICAN.fullmatch(text.strip()) is not None)
        for text in _national(samples, region, code)
    )
