"""The values of a list's column of languages: how many rows have each, and the language that it means.

Law: a value that no language fits is shown, because its rows get the language for all others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drumbeat.campaigns.audience.check.language_words import find_meant_language
from drumbeat.campaigns.audience.check.template_choice import (
    VALUE_CHARACTERS_MAX,
    VALUES_COUNTED_MAX,
    add_bounded,
    value_key,
)
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.audience.open.reader import is_blank
from drumbeat.campaigns.console.new.choices import reading_of
from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.options.sources import ReadOptions

COUNTED_FILE = "language_values.json"
OF_A_VALUE = "language_of."  # before the place of a value in the form; `language_value.` names the value


@dataclass(frozen=True, slots=True)
class LanguageValue:
    """A value of the column, the rows that have it, and the language that it means; None if it names none of
    the message.
    """

    value: str
    rows: int
    language: str | None

    @property
    def can_be_given(self) -> bool:
        """Return whether a person may give it a language: an option writes it before a `=`."""
        return bool(self.value) and "=" not in self.value and len(self.value) < VALUE_CHARACTERS_MAX


def language_values(
    counts: Mapping[str, int], languages: Sequence[str], given: Mapping[str, str]
) -> list[LanguageValue]:
    """Return the values, those without a language first, then the most frequent first."""
    meant = {value_key(value): language for value, language in given.items() if language in languages}
    found = [
        LanguageValue(value, rows, meant.get(value_key(value)) or find_meant_language(value, languages))
        for value, rows in counts.items()
    ]
    return sorted(found, key=lambda each: (each.language is not None, -each.rows, each.value))


async def counted_values(upload: Upload, choices: Mapping[str, Any]) -> dict[str, int]:
    """Return how many rows have each value of the chosen column. The counts are kept beside the file."""
    column, reading = choices.get("language_column"), reading_of(choices)
    if not column:
        return {}
    kept, key = upload.read_json(COUNTED_FILE), repr((column, reading))
    if kept is None or kept["key"] != key:
        async with upload.errors_named():
            counted = await asyncio.to_thread(_count, upload.path, reading, str(column))
        kept = {"key": key, "counts": counted}
        upload.write_json(COUNTED_FILE, kept)
    counts: dict[str, int] = kept["counts"]
    return counts


def _count(path: Path, reading: ReadOptions, column: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    with open_table(path, reading) as source:
        table = source.table()
        if column not in table.header:
            return {}
        at = list(table.header).index(column)
        for batch in table.batches():
            rows = Counter(row[at].strip()[:VALUE_CHARACTERS_MAX] for row in batch.rows if not is_blank(row))
            add_bounded(total, dict(rows))
    return dict(total)


def language_map(choices: Mapping[str, Any], column: str | None, fields: Any) -> dict[str, str] | None:
    """Return the languages that a form gives to values. Another column has other values."""
    if column is None or column != choices.get("language_column"):
        return None
    given = {}
    for at in range(VALUES_COUNTED_MAX + 1):
        value = str(fields.get(f"language_value.{at}", ""))
        language = str(fields.get(f"{OF_A_VALUE}{at}", ""))
        if value and language and "=" not in value:
            given[value] = language
    kept = choices.get("language_map")
    has_form = any(str(name).startswith(OF_A_VALUE) for name in fields)
    return (given or None) if has_form else kept
