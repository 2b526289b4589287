"""A reader of the phones of one audience: by the country of each row, with what is to be left out, and with
what a person should know about those that were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from drumbeat.campaigns.finding import Findings
from drumbeat.campaigns.phones.country_words import region_named
from drumbeat.campaigns.phones.kinds import Kind, kinds_of
from drumbeat.campaigns.phones.normaliser import Normaliser
from drumbeat.campaigns.phones.numbering_plan import known_region
from drumbeat.campaigns.phones.plain_digits import PlainDigits, count_plain, is_plain
from drumbeat.campaigns.phones.second_number import TWO_NUMBERS

UNKNOWN, OTHER_COUNTRY = "country_unknown", "phone_other_country"
WORDS_REMEMBERED = 4_096  # a column of countries has few; another column must not fill the memory
_NO_REGION, _UNKNOWN_REGION = "", "?"
# The reject code of each kind that is to be left out.
LEFT_OUT: Mapping[Kind, str] = {
    Kind.LANDLINE: "phone_landline",
    Kind.TOLL_FREE: "phone_toll_free",
    Kind.PREMIUM: "phone_premium",
    Kind.SATELLITE: "phone_satellite",
}
NOT_MOBILE = "phone_not_mobile"

Column = Sequence[str]


@dataclass(frozen=True, slots=True)
class PhoneRules:
    """The rules of phones, whatever the form of the audience. `region` is the country of national numbers,
    where a row names none. `repairs`: countries whose old numbers are repaired. `leave_out`: kinds that are
    rejected; `only_mobile` rejects all but mobile phones.
    """

    region: str | None = None
    repairs: tuple[str, ...] = ()
    first_number: bool = False
    leave_out: frozenset[Kind] = frozenset()
    only_mobile: bool = False


@dataclass(frozen=True, slots=True)
class ReadPhones:
    """The phone of each row, or its reject code. `plain` counts phones without a country."""

    phones: list[int | str]
    plain: PlainDigits = field(default_factory=PlainDigits)
    findings: Findings = field(default_factory=Findings)


class PhoneReader:
    """A reader for the phones in the column `index` with the name `column`.

    `country` is the index of the column that names the country of each row. `hint` is that of a column that
    only seems to, and is compared with what is read.
    """

    def __init__(
        self, rules: PhoneRules, index: int, column: str, country: int | None = None, hint: int | None = None
    ) -> None:
        self._rules = rules
        self.index = index
        self._column = column
        self._country = country
        self._hint = hint
        self._region_of = lru_cache(WORDS_REMEMBERED)(_region_of)
        self._normalisers: dict[tuple[str, PhoneRules], Normaliser] = {}
        self._normaliser(_NO_REGION, rules)  # an unknown region is refused before any row is read

    def read(self, lines: Sequence[int], columns: Sequence[Column], /) -> ReadPhones:
        """Read the phones of rows. `columns` has the cells of each column of the audience."""
        texts = columns[self.index]
        regions = [] if self._country is None else [self._region_of(cell) for cell in columns[self._country]]
        read = ReadPhones(self._normalised(texts, regions, self._rules))
        if regions:
            self._check_countries(read, lines, texts, regions)
        if self._rules.region is None or self._hint is not None:
            self._note_plain(read, lines, columns, regions)
        if regions and self._rules.region is None:
            _reject_unnamed(read.phones, texts, regions)
        if self._rules.repairs or self._rules.first_number:
            self._note_repairs(read, lines, texts, regions)
        if self._rules.only_mobile or self._rules.leave_out:
            self._leave_out(read.phones)
        return read

    def _normalised(self, texts: Column, regions: Sequence[str], rules: PhoneRules) -> list[int | str]:
        """Return the phones. Those of each country are read together, because each has its own patterns."""
        if not regions:
            return self._normaliser(_NO_REGION, rules).normalise_all(texts)
        by_region: dict[str, list[int]] = {}
        for at, region in enumerate(regions):
            by_region.setdefault(region, []).append(at)
        found: list[int | str] = [UNKNOWN] * len(texts)
        for region in by_region.keys() - {_UNKNOWN_REGION}:
            rows = by_region[region]
            phones = self._normaliser(region, rules).normalise_all([texts[at] for at in rows])
            for at, phone in zip(rows, phones, strict=True):
                found[at] = phone
        return found

    def _normaliser(self, region: str, rules: PhoneRules) -> Normaliser:
        key = region, rules
        if key not in self._normalisers:
            self._normalisers[key] = Normaliser(
                region or rules.region, rules.repairs, first_number=rules.first_number
            )
        return self._normalisers[key]

    def _check_countries(
        self, read: ReadPhones, lines: Sequence[int], texts: Column, regions: Sequence[str]
    ) -> None:
        """Refuse phones of another country than their row's, unless they are written with its code."""
        differing = []
        for at, (phone, region) in enumerate(zip(read.phones, regions, strict=True)):
            if region == _NO_REGION or not isinstance(phone, int) or _is_of(phone, region):
                continue
            if is_plain(texts[at].strip()):
                read.phones[at] = OTHER_COUNTRY
            else:
                differing.append(lines[at])
        if differing:
            read.findings.add("phone_country_differs", self._column, differing)

    def _note_plain(
        self, read: ReadPhones, lines: Sequence[int], columns: Sequence[Column], regions: Sequence[str]
    ) -> None:
        texts, phones = columns[self.index], read.phones
        if regions:
            rows = [at for at, region in enumerate(regions) if region == _NO_REGION]
            texts, phones = [texts[at] for at in rows], [phones[at] for at in rows]
            read.plain.explicit += len(regions) - len(rows)
        read.plain.update(count_plain(texts, phones))
        if self._hint is not None:
            self._note_hints(read.plain, zip(lines, texts, phones, columns[self._hint], strict=True))

    def _note_hints(self, plain: PlainDigits, rows: Iterable[tuple[int, str, int | str, str]]) -> None:
        """Compare line, text and phone of each row with the cell that may name its country."""
        for line, text, phone, cell in rows:
            region = self._region_of(cell)
            plain.named += region not in (_NO_REGION, _UNKNOWN_REGION)
            plain.unnamed += region == _UNKNOWN_REGION
            if region in (_NO_REGION, _UNKNOWN_REGION) or not is_plain(text.strip()):
                continue
            if not _is_of(phone, region) and _is_of(
                self._normaliser(region, self._rules).normalise(text), region
            ):
                plain.add_difference(line)

    def _note_repairs(
        self, read: ReadPhones, lines: Sequence[int], texts: Column, regions: Sequence[str]
    ) -> None:
        """Note which phones are read only because the rules ask for it: first ones of two, and old ones."""
        strict = self._normalised(texts, regions, replace(self._rules, repairs=(), first_number=False))
        rows: dict[str, list[int]] = {}
        for line, phone, without in zip(lines, read.phones, strict, strict=True):
            if isinstance(phone, int) and phone != without:
                code = "phone_first_taken" if without == TWO_NUMBERS else "phone_repaired"
                rows.setdefault(code, []).append(line)
        for code, found in rows.items():
            read.findings.add(code, self._column, found)

    def _leave_out(self, phones: list[int | str]) -> None:
        """Replace phones of unwanted kinds by the reject codes of these kinds."""
        rows = [at for at, phone in enumerate(phones) if isinstance(phone, int)]
        for at, kind in zip(rows, kinds_of([str(phones[at]) for at in rows]), strict=True):
            if kind in self._rules.leave_out:
                phones[at] = LEFT_OUT[kind]
            elif self._rules.only_mobile and kind is not Kind.MOBILE:
                phones[at] = NOT_MOBILE


def _reject_unnamed(phones: list[int | str], texts: Column, regions: Sequence[str]) -> None:
    """Reject plain digits of rows without a country: beside national numbers, they are national ones too, and
    only by chance numbers of another country.
    """
    for at, region in enumerate(regions):
        if region == _NO_REGION and isinstance(phones[at], int) and is_plain(texts[at].strip()):
            phones[at] = UNKNOWN


def _region_of(cell: str) -> str:
    if not cell or cell.isspace():
        return _NO_REGION
    return region_named(cell) or _UNKNOWN_REGION


def _is_of(phone: int | str, region: str) -> bool:
    """Return whether a phone has the calling code of a country."""
    return isinstance(phone, int) and str(phone).startswith(known_region(region).code)
