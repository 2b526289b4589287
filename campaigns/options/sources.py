"""The sources of an audience: a file and how to read it, a query, or the result of a campaign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from drumbeat.engine.core.states import RecipientState

STANDARD_INPUT = Path("-")


class Format(StrEnum):
    """The forms of an audience; the option `format` takes these words."""

    CSV = "csv"
    JSON_LINES = "jsonl"
    XLSX = "xlsx"
    XLS = "xls"
    ODS = "ods"
    PARQUET = "parquet"


class PhoneKind(StrEnum):
    """The kinds of phones that the option `leave_out` takes."""

    LANDLINE = "landline"
    TOLL_FREE = "toll-free"
    PREMIUM = "premium"
    SATELLITE = "satellite"


class HiddenRowsChoice(StrEnum):
    """The choices for rows that a sheet does not show; `--hidden-rows` takes these words."""

    READ = "read"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options that say how to read a file. `form` is what an unpacked file holds; None lets it be
    recognised. `sheet` is a sheet of a workbook. `hidden_rows` None refuses a sheet with hidden rows.
    `encoding` is that of a CSV file without a byte order mark; None lets it be recognised. `keep_spaces`:
    spaces at the ends of cells are part of them. `header_row` is the row that names the columns, from 1; None
    takes the first one with text, and refuses a title.
    """

    form: Format | None = None
    sheet: str | None = None
    hidden_rows: HiddenRowsChoice | None = None
    encoding: str | None = None
    keep_spaces: bool = False
    header_row: int | None = None


AS_IT_IS = ReadOptions()
# For lists of people to whom nothing is sent: one too many is safe, one too few is not.
ALL_ROWS = ReadOptions(hidden_rows=HiddenRowsChoice.READ)


@dataclass(frozen=True, slots=True)
class CampaignResult:
    """The recipients of a campaign in one state, failed with one of the codes. None, or no code, means any.

    `once` leaves out those to whom another campaign already sends again; `without` those with these codes.
    """

    name: str
    state: RecipientState | None = None
    codes: AbstractSet[int] = frozenset()
    once: bool = False
    without: AbstractSet[int] = frozenset()


WHERE = "the query"  # stands for the audience in errors


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """A query, and the URL of its database, which may hold a password."""

    query: str
    url: str = field(repr=False)


GIVEN_ROWS = "the given rows"  # stands for the audience in errors, and is stored as its name


@dataclass(frozen=True, slots=True)
class GivenRows:
    """Rows that a program gives, read once: mappings, or sequences of which the first one is the header."""

    rows: Iterable[Any] = field(repr=False)


Audience: TypeAlias = Path | SqlQuery | CampaignResult | GivenRows
Corrections = Mapping[int, Sequence[str]]  # the number of a row → its cells, in the order of the header
