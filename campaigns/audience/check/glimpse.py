"""The columns of an audience with their first values, and which column is probably which."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from drumbeat.campaigns.audience.check.columns import MissingPhones, has_column
from drumbeat.campaigns.audience.check.encoding_question import encoding_candidates
from drumbeat.campaigns.audience.check.language_words import find_meant_language
from drumbeat.campaigns.audience.check.phone_columns import phone_columns
from drumbeat.campaigns.audience.check.reject_file import require_no_reject_list
from drumbeat.campaigns.audience.open.encoding_candidates import Candidate
from drumbeat.campaigns.audience.open.opening import OpenAudience, open_table
from drumbeat.campaigns.audience.open.reader import AudienceTable, is_blank
from drumbeat.campaigns.options.sources import AS_IT_IS, ReadOptions
from drumbeat.campaigns.phones.normaliser import Normaliser
from drumbeat.engine.core.template.placeholder import Placeholder
from drumbeat.engine.errors import DrumbeatError

SAMPLE_ROWS = 3
NAMED_MAX = 5  # columns in an error
GUESS_ROWS = 100  # enough to tell a column of phones from others
_LANGUAGE_WORDS = ("lang", "sprache", "locale", "idioma")
_CELL_ENDS = re.compile(r"[,;|\t]")
_PLAIN = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The header and the first rows of a file. `samples` has the first values of each of `columns`. `phones`
    are the columns that hold phones, as `phone_columns` finds them.

    `candidates` are the encodings among which a person must choose; there are none if it is known.
    """

    columns: Sequence[str]
    samples: Sequence[Sequence[str]]
    form: str
    phones: Sequence[str] = ()
    candidates: Sequence[Candidate] = ()

    @property
    def phone_column(self) -> str | None:
        """Return the column that clearly holds the phones; None if there is none, or a choice."""
        return self.phones[0] if len(self.phones) == 1 else None

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return the first rows."""
        return list(zip(*self.samples, strict=True))


def glimpse(path: Path, options: ReadOptions = AS_IT_IS) -> Glimpse:
    """Read the header and the first rows of a file. Raise the errors of `open_table`."""
    with open_table(path, options) as source:
        return replace(glimpse_table(source.table()), candidates=encoding_candidates(source))


def glimpse_table(table: AudienceTable) -> Glimpse:
    """Read the first rows of a table."""
    require_no_reject_list(table.header, table.name)
    filled = (row for batch in table.batches() for row in batch.rows if not is_blank(row))
    rows = list(islice(filled, GUESS_ROWS))
    samples = [[row[index] for row in rows[:SAMPLE_ROWS]] for index in range(len(table.header))]
    return Glimpse(tuple(table.header), samples, table.form, phone_columns(table.header, rows))


def with_remedy(error: DrumbeatError, source: OpenAudience) -> DrumbeatError:
    """Return an error about a missing column with the remedy that the rows show: they name the columns in a
    line further down, or the first line is a recipient, or other columns hold the phones.
    """
    wanted = "" if error.values is None else str(error.values.get("wanted", ""))
    if wanted and (remedy := _remedy_of_header(source.table_again(), wanted)):
        values = {**(error.values or {}), "remedy": remedy}
        return type(error)(error.forms[0], where=error.where, remedy="{remedy}", key=error.key, values=values)
    return with_phones_proposed(error, source) if isinstance(error, MissingPhones) else error


def _remedy_of_header(table: AudienceTable, wanted: str) -> str:
    """Return how to correct a table whose first line does not name the columns; empty if it does."""
    batch = next(iter(table.batches()))
    rows = [("\t".join(row), line) for row, line in zip(batch.rows, batch.lines, strict=True)]
    rows += [(reject.value, reject.line) for reject in batch.rejects]
    for text, line in sorted(rows, key=lambda row: row[1])[:GUESS_ROWS]:
        if has_column([cell.strip() for cell in _CELL_ENDS.split(text)], wanted):
            return f"line {line} names it: delete the lines above the names of the columns"
    if any(isinstance(Normaliser().normalise(name), int) for name in table.header):
        return "the first line holds a phone: put a line above it that names the columns"
    return ""


def with_phones_proposed(error: DrumbeatError, source: OpenAudience) -> DrumbeatError:
    """Return an error about the column of phones, with the columns that hold phones in its remedy."""
    phones = glimpse_table(source.table_again()).phones[:NAMED_MAX]
    if not phones:
        return error
    named = " or ".join(f'{{phone_column}} "{{column_{at}}}"' for at in range(len(phones)))
    names = {f"column_{at}": name for at, name in enumerate(phones)}
    return type(error)(
        "{what}",
        where=error.where,
        remedy=f"the phones seem to be in another column: give {named}",
        key="phone_column",
        values={"what": error.what, **names},
    )


def guess_language_column(seen: Glimpse, languages: Sequence[str]) -> str | None:
    """Return the column whose first values name these languages. Of a column whose name says so, one value is
    enough, and it is preferred. Empty cells count neither for nor against a column.
    """
    found: dict[str, list[bool]] = {}
    for column, cells in zip(seen.columns, seen.samples, strict=True):
        found[column] = [find_meant_language(cell, languages) is not None for cell in cells if cell]
    named = [
        column
        for column, fits in found.items()
        if any(fits) and any(word in _plain(column) for word in _LANGUAGE_WORDS)
    ]
    whole = [column for column, fits in found.items() if fits and all(fits)]
    return next(iter((*named, *whole)), None)


def guess_params(
    seen: Glimpse, placeholders: Sequence[Placeholder], examples: Mapping[str, str], others: Collection[str]
) -> list[str]:
    """Return a column for each placeholder: the one with its name, else the one that its example names or
    holds.

    The column is empty if none fits, because a wrong one would reach people. `examples` are by component and
    name, such as "body 1". `others` are columns that something else takes.
    """
    free = [at for at, column in enumerate(seen.columns) if column not in others]
    by_name = {_plain(seen.columns[at]): seen.columns[at] for at in free}
    found = []
    for placeholder in placeholders:
        example = examples.get(f"{placeholder.component} {placeholder.name}", "").strip()
        named = by_name.get(_plain(placeholder.name)) or by_name.get(_plain(example))
        holding = [seen.columns[at] for at in free if example and example in seen.samples[at]]
        found.append(named or (holding[0] if len(holding) == 1 else ""))
    return found


def _plain(name: str) -> str:
    return _PLAIN.sub("", name.casefold())
