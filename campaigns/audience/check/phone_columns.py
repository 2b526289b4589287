"""The columns that hold phone numbers, found by their values. Names only tell which of them is meant: "hotel"
and "Phone 1 - Label" hold none, and "celular" does.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from drumbeat.campaigns.output.spreadsheet import is_export
from drumbeat.campaigns.phones.normaliser import Normaliser
from drumbeat.campaigns.phones.plain_digits import is_plain

_LONG_WORDS = """
    phone telefon telephone telefone teléfono téléphone mobil handy whatsapp msisdn rufnummer celular
    cellulare movil móvil portable gsm 電話 携帯 手机
"""
_SHORT_WORDS = "tel cell cel mob fon wa numero número numéro тел"
_FAX = "fax"
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")
# Readings of a cell that is a phone, though not one to send to.
_PHONE_CODES = ("phone_two_numbers", "phone_extension", "phone_user_id")
# Readings of digits that may be a national number, or any other one, such as that of an order.
_DIGITS_MIN, _DIGITS_MAX = 7, 15
_DATE = re.compile(r"[0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2,4}")
_AMOUNT = re.compile(r"[0-9]+\.[0-9]{1,2}")
_NAMED_SHARE = 0.5  # of the filled cells: a column of phones by its name may hold notes
_UNNAMED_SHARE = 0.8
_RARE_SHARE = 0.6  # of the phones of the fullest column: "Phone 2" is for the few who have two


@dataclass(frozen=True, slots=True)
class _Column:
    """A column with the number of its filled cells, of those that are surely phones, and that may be some."""

    name: str
    is_named: bool
    filled: int
    sure: int
    likely: int

    @property
    def holds_phones(self) -> bool:
        if self.is_named:
            return self.likely >= max(1, self.filled * _NAMED_SHARE)
        return self.sure >= max(1, self.filled * _UNNAMED_SHARE)

    @property
    def may_hold_phones(self) -> bool:
        return self.likely >= max(1, self.filled * _UNNAMED_SHARE)


def phone_columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the columns that hold phones, the likeliest first. Several are a question; one is clear. Without
    rows, the names decide.
    """
    if is_export(header):
        return [header[0]]
    columns = [_column(name, [row[at] for row in rows]) for at, name in enumerate(header)]
    if not any(column.filled for column in columns):
        return [column.name for column in columns if column.is_named]
    found = [column for column in columns if column.holds_phones]
    found = [column for column in found if column.is_named] or found
    found = found or [column for column in columns if column.may_hold_phones]
    most = max((column.likely for column in found), default=0)
    return [column.name for column in found if column.likely > most * _RARE_SHARE]


def is_phone_name(name: str) -> bool:
    """Return whether a column's name says that it holds phones."""
    words = [word.casefold() for word in _WORD.findall(name)]
    joined = "".join(words)
    return _FAX not in joined and (
        any(word in joined for word in _LONG_WORDS.split()) or not set(_SHORT_WORDS.split()).isdisjoint(words)
    )


def _column(name: str, cells: Sequence[str]) -> _Column:
    filled = [cell.strip() for cell in cells if cell and not cell.isspace()]
    sure = sum(map(_is_phone, filled))
    likely = sum(_is_phone(cell) or _may_be_phone(cell) for cell in filled)
    return _Column(name, is_phone_name(name), len(filled), sure, likely)


def _is_phone(cell: str) -> bool:
    found = _normalise(cell)
    return isinstance(found, int) or found in _PHONE_CODES or found.startswith("phone_old")


def _may_be_phone(cell: str) -> bool:
    digits = sum(map(str.isdigit, cell))
    is_number = is_plain(cell) and not (_DATE.fullmatch(cell) or _AMOUNT.fullmatch(cell))
    return is_number and _DIGITS_MIN <= digits <= _DIGITS_MAX


_normalise = Normaliser().normalise
