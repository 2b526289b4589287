"""The export for people: headings and values in words, and times on one clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from drumbeat.campaigns.console.web.code_texts import code_remedy
from drumbeat.campaigns.console.web.language import Exactness, PageTexts
from drumbeat.campaigns.output.spreadsheet import EXPORT_COLUMNS, is_variable_column
from drumbeat.campaigns.phones.countries import calling_code
from drumbeat.campaigns.results.export_files import ExportWriter

TIMES = ("sent_at", "delivered_at", "read_at", "failed_at")


@dataclass(frozen=True, slots=True)
class ExportWords:
    """The words of an export. `zone`: times are shown on its clock. `columns`: the columns of the export for
    programs.
    """

    texts: PageTexts
    zone: str
    columns: Sequence[str]

    @property
    def headings(self) -> list[str]:
        """Return the phone, the columns of the list, then the result of the message."""
        return [
            self.texts("export.phone"),
            *map(self._heading, self.columns[len(EXPORT_COLUMNS) :]),
            self.texts("export.state"),
            *(self.texts(f"export.{key}", zone=self.zone) for key in TIMES),
            *(self.texts(f"export.{key}") for key in ("reason", "remedy", "language", "variant")),
        ]

    def _heading(self, column: str) -> str:
        is_fixed = is_variable_column(column)
        return self.texts("export.variable", number=column.rpartition("_")[2]) if is_fixed else column

    def rows(self, page: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [self._row(values) for values in page]

    def _row(self, values: Sequence[Any]) -> list[Any]:
        found = dict(zip(EXPORT_COLUMNS, values, strict=False))
        reason = found["reason"] or ""
        return [
            _phone(found["phone"]),
            *values[len(EXPORT_COLUMNS) :],
            self.texts(f"recipient.{found['state']}"),
            *(self._time(found[key]) for key in TIMES),
            self.texts.maybe(f"plan.left_{reason}", reason),
            "" if found["code"] is None else code_remedy(self.texts, str(found["code"])),
            found["language"],
            found["variant"],
        ]

    def _time(self, moment: datetime | None) -> str:
        return "" if moment is None else self.texts.text_of(moment, Exactness.SECOND, self.zone)


def _phone(written: str) -> str:
    """Return the phone with its calling code in brackets, as people read it; a pseudonym stays."""
    digits = written.removeprefix("+")
    code = calling_code(int(digits)) if digits.isdecimal() else ""
    return f"(+{code}) {digits[len(code) :]}" if code else written


@dataclass(frozen=True, slots=True)
class WordsWriter:
    """A writer that turns pages of the export for programs into words."""

    words: ExportWords
    writer: ExportWriter

    def write(self, page: Sequence[Sequence[Any]]) -> None:
        self.writer.write(self.words.rows(page))

    def close(self) -> None:
        self.writer.close()
