"""The findings about a list: what looks wrong or was repaired in rows that are good, and the table of texts.

A finding leaves nobody out. What leaves a row out is a reject, and what makes a list unreadable is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from string import Formatter

from typing_extensions import TypedDict

LINES_MAX = 5  # of each finding, enough to look at the file
EXAMPLE_CHARACTERS_MAX = 80

ROWS_HIDDEN, EXCLUDED_HIDDEN, COLUMN_HIDDEN = "rows_hidden_read", "excluded_rows_hidden", "column_hidden"
# Code → what is found, with its cure, as a form: `{repair}` names the option of that key. The column and the
# lines are added where it is shown.
FINDINGS: dict[str, str] = {
    ROWS_HIDDEN: "the sheet hides these rows, and they were read like all others",
    "rows_hidden_skipped": "the sheet hides these rows, and they were left out",
    EXCLUDED_HIDDEN: (
        "the sheet of people to leave out hides these rows, and they are left out like all others of it"
    ),
    COLUMN_HIDDEN: "the sheet hides this column, and it is read; check that it is the one you mean",
    "format_unknown": (
        "the number format of these cells cannot be applied, and they are read without it; give the column"
        " another format, or format it as text"
    ),
    "format_system": (
        "each computer shows these dates and times in its own form, so they are read as year-month-day; give"
        " the column a form of its own"
    ),
    "format_language": (
        "the workbook does not say the language of these names of days or months, and they are read in"
        " English; give the column a format with a language"
    ),
    "phone_country_differs": "the phone has the code of another country than its row names",
    "phone_first_taken": "the cell holds two numbers, and the first one is taken",
    "phone_repaired": "the number had an old form, and was brought to that of today",
    "spaces_removed": "spaces or line breaks at an end were taken off; {keep_spaces} keeps them",
    "invisible_removed": "invisible characters were taken off",
    "apostrophe_removed": "the mark of a spreadsheet for a number that is text was taken off",
    "mojibake": "the letters are garbled: UTF-8 was read in another encoding; {repair} restores them",
    "mojibake_repaired": "garbled letters were restored, as {repair} asks",
    "html_entity": "the text holds entities of a web page, such as &amp;; {repair} makes letters of them",
    "html_repaired": "entities of a web page became letters, as {repair} asks",
    "empty_word": 'the text is a word for "no value"; {empty_words} takes it as an empty cell',
    "unfilled_placeholder": (
        "the text is a placeholder that another program did not fill; {empty_words} takes it as an empty cell"
    ),
    "word_emptied": 'a word for "no value" or a placeholder became an empty cell, as {empty_words} asks',
    "email_as_value": "the text is a mail address, perhaps of the wrong column",
    "code_characters": "the code has other characters than letters, digits, - and _",
    "url_beginning": (
        "the link repeats what the template has before it, or is a whole link; {repair} removes repetitions"
    ),
    "url_characters": "the link has spaces or letters that links do not have; {repair} encodes them",
    "url_repaired": "the link was repaired, as {repair} asks",
}


def finding_text(code: str, name_of: Callable[[str], str] = str) -> str:
    """Return what a finding says. `name_of` gives the name of an option by its key."""
    form = FINDINGS[code]
    named = {key: name_of(key) for _, key, _, _ in Formatter().parse(form) if key}
    return form.format_map(named)


class ListFinding(TypedDict):
    """A warning about cells of good rows in one column. `lines`: the first of them; `example`: the first
    cell.
    """

    code: str
    column: str
    count: int
    lines: list[int]
    example: str
    text: str


@dataclass(slots=True)
class Finding:
    """Cells of one column with the same finding. `lines`: the first of them, from 1; empty for a whole file.

    `example` is the first cell as it was written; it is empty if it would show a phone.
    """

    code: str
    column: str
    count: int = 0
    lines: list[int] = field(default_factory=list)
    example: str = ""

    def as_json(self) -> ListFinding:
        return {
            "code": self.code,
            "column": self.column,
            "count": self.count,
            "lines": self.lines,
            "example": self.example,
            "text": finding_text(self.code),
        }


@dataclass(slots=True)
class Findings:
    """The findings about a list, by code and column, in the order in which they were found."""

    _by_key: dict[tuple[str, str], Finding] = field(default_factory=dict)

    def add(
        self, code: str, column: str, lines: Iterable[int] = (), example: str = "", count: int = 0
    ) -> None:
        """Add cells of a column. `count`: how many, if `lines` does not have them all."""
        every = list(lines)
        shown = example[:EXAMPLE_CHARACTERS_MAX]
        self._add(Finding(code, column, count or len(every), every[:LINES_MAX], shown))

    def update(self, others: Findings) -> None:
        """Add what another part of the list showed."""
        for finding in others._by_key.values():
            self._add(finding)

    def of(self, code: str) -> list[Finding]:
        return [finding for finding in self if finding.code == code]

    def for_columns(self, names: Collection[str]) -> Findings:
        """Return the findings about these columns, and those about the whole list."""
        kept = Findings()
        for finding in self:
            if not finding.column or finding.column in names:
                kept._add(finding)
        return kept

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._by_key.values())

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def as_json(self) -> list[ListFinding]:
        return [finding.as_json() for finding in self._by_key.values()]

    def _add(self, more: Finding) -> None:
        found = self._by_key.setdefault((more.code, more.column), Finding(more.code, more.column))
        found.count += more.count
        found.lines = sorted(found.lines + more.lines)[:LINES_MAX]
        found.example = found.example or more.example
