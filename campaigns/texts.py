"""The words of a text in the reader's language, with the forms of its numbers and times."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of one language. `texts("nav.audit")` gives one; a key that is missing raises KeyError.

    Where a text has a {count}, the text of the same key with `_one` is that of a single thing.
    """

    code: str
    words: Mapping[str, str]

    def __call__(self, key: str, **values: Any) -> str:
        return self.form_of(key, values).format(**values)

    def form_of(self, key: str, values: Mapping[str, Any]) -> str:
        """Return the text before its {places} are filled."""
        if str(values.get("count")) == "1":
            key = f"{key}_one" if f"{key}_one" in self.words else key
        return self.words[key]

    def maybe(self, key: str, otherwise: str) -> str:
        """Return the words of a key from the database, or `otherwise` if no words are known for it."""
        return self.words.get(key, otherwise)

    def number(self, value: float, digits: int = 0) -> str:
        """Return the number as the language writes it: `12,345` or `12.345`."""
        text = f"{value:,.{digits}f}"
        if self.words["thousands"] == ",":
            return text
        return text.translate(str.maketrans(",.", ".,"))

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


def is_near(moment: datetime) -> bool:
    """Return whether a time is within a day of now, so that it needs no date."""
    return abs(moment - datetime.now(UTC)) < timedelta(days=1)


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
