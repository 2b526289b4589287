"""The words of a text in the reader's language, with the forms of its numbers and times."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from babel import Locale

FIRST_LANGUAGE = "en"  # its words are complete: whoever asks for no other gets it
_NO_DIGIT = re.compile(r"\D")


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of one language. `texts("nav.audit")` gives one; a key that is missing raises KeyError.

    Where a text has a {count}, the texts of the same key with `_one`, `_few` and so on are those of the
    language's other plural forms, by the rules of the CLDR. The count may be written as people read it:
    `1,234`. `code` is that of the file: `pt_BR`.
    """

    code: str
    words: Mapping[str, str]

    def __call__(self, key: str, **values: Any) -> str:
        return self.form_of(key, values).format(**values)

    def form_of(self, key: str, values: Mapping[str, Any]) -> str:
        """Return the text before its {places} are filled."""
        text = self.words[key]
        if "count" in values:
            count = int(_NO_DIGIT.sub("", str(values["count"])) or 0)
            of_form = self.words.get(f"{key}_{_locale(self.code).plural_form(count)}", text)
            # "One recipient", without the figure, is said of one alone: Portuguese has the same form for 0.
            return of_form if count == 1 or "{count}" in of_form else text
        return text

    @property
    def tag(self) -> str:
        """Return the language as HTML names it: `pt-BR`."""
        return self.code.replace("_", "-")

    def maybe(self, key: str, otherwise: str) -> str:
        """Return the words of a key from the database, or `otherwise` if no words are known for it."""
        return self.words.get(key, otherwise)

    def number(self, value: float, digits: int = 0) -> str:
        """Return the number as the language writes it: `12,345` or `12.345`."""
        text = f"{value:,.{digits}f}"
        return text.translate(_separators(self.code))

    def clock(self, moment: datetime) -> str:
        """Return the time to the minute in UTC; with its date unless it is near."""
        return f"{moment.astimezone(UTC):{'%H:%M' if is_near(moment) else '%Y-%m-%d %H:%M'}} UTC"

    def share(self, part: float, whole: float) -> str:
        """Return a share in per cent; 100.0 only if nobody is missing, and 0.0 only if there is nobody."""
        if not whole:
            return f"{self.number(0, 1)} %"
        percent = 100 * part / whole
        if 0 < part < whole:
            percent = min(max(percent, 0.1), 99.9)
        return f"{self.number(percent, 1)} %"


@cache
def _locale(code: str) -> Locale:
    from babel import Locale  # 30 ms, which a command that prints no texts need not wait for

    return Locale.parse(code)


@cache
def _separators(code: str) -> dict[int, str]:
    """Return what stands for the comma and the point of an English number."""
    symbols = _locale(code).number_symbols["latn"]
    return str.maketrans({",": symbols["group"], ".": symbols["decimal"]})


def is_near(moment: datetime) -> bool:
    """Return whether a time is within a day of now, so that it needs no date."""
    return abs(moment - datetime.now(UTC)) < timedelta(days=1)


def languages_in(package: str) -> tuple[str, ...]:
    """Return the languages of a package: each has a file of words, and nothing else. English is the first."""
    found = (file.name for file in files(package).iterdir() if file.name.endswith(".toml"))
    return tuple(
        sorted(
            (name.removesuffix(".toml") for name in found), key=lambda code: (code != FIRST_LANGUAGE, code)
        )
    )


def words_of(package: str, code: str) -> dict[str, str]:
    """Return the words of a package in one language, by their keys: `why.quota`."""
    return dict(_flat(tomllib.loads((files(package) / f"{code}.toml").read_text("utf-8"))))


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            found += _flat(value, f"{prefix}{key}.")
        else:
            found.append((prefix + key, value))
    return found
