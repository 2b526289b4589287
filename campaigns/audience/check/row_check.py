"""The check of each row: it needs a phone number, and variables that the service accepts.

Nearly every row is good. Therefore whole columns are checked in one call where possible, and single rows only
if their column fails.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice, repeat
from typing import NamedTuple

from drumbeat.campaigns.audience.check.cleaning import column_of
from drumbeat.campaigns.audience.check.columns import MissingColumn, MissingPhones, column_index
from drumbeat.campaigns.audience.check.corrections import corrected
from drumbeat.campaigns.audience.check.doubtful import doubts_about
from drumbeat.campaigns.audience.check.header_media import HeaderMediaCheck
from drumbeat.campaigns.audience.check.message_rules import MessageRules, require_room, too_long
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.check.suspects import suspects
from drumbeat.campaigns.audience.check.template_choice import TemplateChoice, TemplateChooser
from drumbeat.campaigns.audience.check.value_check import CheckedColumn, ValueCheck, findings_of
from drumbeat.campaigns.audience.open.cell_error import cell_problem, failing_cells
from drumbeat.campaigns.audience.open.reader import AudienceTable, Row, RowBatch, is_blank
from drumbeat.campaigns.finding import Findings
from drumbeat.campaigns.options.param_texts import is_literal
from drumbeat.campaigns.options.sources import Corrections
from drumbeat.campaigns.output.spreadsheet import as_written, is_export, is_variable_column, safe_cell
from drumbeat.campaigns.phones.country_column import country_like
from drumbeat.campaigns.phones.phone_counts import PhoneCounts, count_phones
from drumbeat.campaigns.phones.phone_reader import UNKNOWN, PhoneReader, ReadPhones
from drumbeat.campaigns.phones.plain_digits import NO_COLUMN, PlainDigits, require_countries
from drumbeat.campaigns.reject import Reject
from drumbeat.engine.core.template.variable import check_variable
from drumbeat.engine.errors import UsageError

_NAME_THE_PHONES = "; name the column of the phone numbers with {phone_column}"


FIRST_ROWS = 10  # of a list, for people to see; some may be duplicates


class FirstRow(NamedTuple):
    """One of the first good rows: its line, its phone, the index of its template and its values."""

    line: int
    phone: int
    template_index: int
    values: tuple[str, ...]


@dataclass(slots=True)
class CheckedBatch:
    """The good rows of a batch, and its rejects. `read_bytes` is how much of the file was read by then.

    A good row has its line, its phone in digits of E.164, a variable for each placeholder, and perhaps the
    index of its template. Without `template_indexes`, all rows have the first template. They are stored as
    columns, because a tuple for each row would double the cost of its variables. `files` are the header files
    that the rows name. `unmatched` counts texts in the column of languages that name no language of the
    template. `counts` are of the good rows' phones, and `plain` of those that name no country.
    """

    read_bytes: int
    lines: Sequence[int]
    phones: Sequence[int]
    variables: Sequence[tuple[str, ...]]
    rejects: list[Reject]
    template_indexes: Sequence[int] = ()
    files: frozenset[str] = frozenset()
    unmatched: Counter[str] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)
    counts: PhoneCounts = field(default_factory=PhoneCounts)
    plain: PlainDigits = field(default_factory=PlainDigits)

    @property
    def rows(self) -> int:
        return len(self.lines) + len(self.rejects)

    def first_rows(self, most: int = FIRST_ROWS) -> list[FirstRow]:
        indexes = self.template_indexes or repeat(0)
        return list(islice(map(FirstRow, self.lines, self.phones, indexes, self.variables), most))


class StoredPhones:
    """The phones of recipients as they are stored: to read one again by the rules of a country may make it
    another's.
    """

    def read(self, _: Sequence[int], columns: Sequence[Sequence[str]], /) -> ReadPhones:
        return ReadPhones(list(map(int, columns[0])))


@dataclass(frozen=True, slots=True)
class RowCheck:
    """A check of rows with one header. `row_check` makes it."""

    phones: PhoneReader | StoredPhones
    phone_index: int
    phone_column: str
    variable_columns: tuple[tuple[int, str], ...]  # index and name; fixed texts have none
    value_columns: tuple[tuple[int, str], ...]  # the variable columns, and the column of languages
    picks: tuple[int | str, ...]  # for each placeholder the index of its column, or its fixed text
    exported: tuple[int, ...]  # variable columns that `campaign export` may have written
    defaults: tuple[tuple[int, str], ...]  # index of a column, and the text for its empty cells
    media: HeaderMediaCheck | None = None  # checks the first pick
    chooser: TemplateChooser | None = None  # None if there is one template
    corrections: Corrections = field(default_factory=dict)
    country: tuple[int, str] | None = None  # index and name of the column that names the country of each row
    values: ValueCheck = field(default_factory=lambda: ValueCheck((), keep_spaces=True))
    message: MessageRules | None = None

    def read_columns(self, header: Sequence[str]) -> set[str]:
        """Return the columns that are read: all while there is no message that takes some."""
        read = [self.phone_index, *(index for index, _ in self.value_columns)]
        return {header[index] for index in read} if self.value_columns else set(header)

    def corrected(self, batch: RowBatch) -> RowBatch:
        """Return the batch as it is to be checked."""
        return corrected(batch, self.corrections) if self.corrections else batch

    def check(self, batch: RowBatch) -> CheckedBatch:
        """Split a batch into good rows and rejects; blank rows are neither."""
        batch = self.corrected(batch)
        if not batch.rows:
            return CheckedBatch(batch.read_bytes, (), (), (), sorted(batch.rejects, key=_line_of))
        columns: list[Sequence[str]] = list(zip(*batch.rows, strict=True))
        for index in self.exported:
            columns[index] = list(map(as_written, columns[index]))
        seen, texts = self.values.clean(columns)
        for index, text in self.defaults:
            columns[index] = [cell if cell and not cell.isspace() else text for cell in columns[index]]
            texts.pop(index, None)
        if self.media is not None and isinstance(self.picks[0], int):
            columns[self.picks[0]] = list(map(str.strip, columns[self.picks[0]]))
        read = self.phones.read(batch.lines, columns)
        phones = read.phones
        refused = self._refused(batch, columns, phones, texts)
        kept = bytearray(b"\1") * len(phones)
        for at in refused:
            kept[at] = 0
        rejects = batch.rejects + [reject for reject in refused.values() if reject is not None]
        variables = list(compress(self._variables(columns), kept))
        media = self.media
        checked = CheckedBatch(
            batch.read_bytes,
            list(compress(batch.lines, kept)),
            list(compress(phones, kept)),  # type: ignore[arg-type]  # a good phone is an int
            variables,
            sorted(rejects, key=_line_of),
            files=frozenset() if media is None else media.files([row[0] for row in variables]),
            findings=read.findings,
            plain=read.plain,
        )
        checked.findings.update(findings_of(seen, batch, kept))
        checked.counts = count_phones(checked.phones)
        if self.chooser is not None:
            at_language = self.chooser.language_index
            cells = None if at_language is None else list(compress(columns[at_language], kept))
            checked.template_indexes = self.chooser.choose(cells, checked.phones, checked.unmatched)
        return checked

    def _variables(self, columns: Sequence[Sequence[str]]) -> Iterable[tuple[str, ...]]:
        if not self.picks:
            return repeat(())
        picked = (repeat(pick) if isinstance(pick, str) else columns[pick] for pick in self.picks)
        return zip(*picked, strict=False)

    def _refused(
        self,
        batch: RowBatch,
        columns: Sequence[Sequence[str]],
        phones: Sequence[int | str],
        texts: Mapping[int, str],
    ) -> dict[int, Reject | None]:
        """Return the reject of each row that cannot be sent to, by index; None for a blank row."""
        refused: dict[int, Reject | None] = {}
        for at, phone in enumerate(phones):
            if isinstance(phone, str):
                row = batch.rows[at]
                refused[at] = self._reject(batch.lines[at], row, phone)
        texts = {index: texts.get(index) or column_of(columns[index]).text for index, _ in self.value_columns}
        for index, column in self.value_columns:
            for at in failing_cells(columns[index], texts[index]):
                code = cell_problem(columns[index][at]) or ""
                refused.setdefault(at, Reject(batch.lines[at], code, column, batch.rows[at][index]))
        for at, refused_media in self._refused_media(batch, columns):
            refused.setdefault(at, refused_media)
        for index, column in self.variable_columns:
            for at in suspects(columns[index], texts[index]):
                if (problem := check_variable(columns[index][at])) is not None:
                    code = f"variable_{problem}"
                    refused.setdefault(at, Reject(batch.lines[at], code, column, batch.rows[at][index]))
        for reject_at, reject in self._refused_messages(batch, columns, phones):
            refused.setdefault(reject_at, reject)
        return refused

    def _refused_messages(
        self, batch: RowBatch, columns: Sequence[Sequence[str]], phones: Sequence[int | str]
    ) -> Iterator[tuple[int, Reject]]:
        """Give the rejects of rows whose message is too long with its values."""
        if self.message is None:
            return

        def template_of(at: int) -> int:
            phone = phones[at]
            if self.chooser is None or isinstance(phone, str):
                return 0
            language = self.chooser.language_index
            cells = None if language is None else [columns[language][at]]
            return self.chooser.choose(cells, [phone], Counter())[0]

        names = dict(self.variable_columns)
        values = [pick if isinstance(pick, str) else columns[pick] for pick in self.picks]
        for at, code, position, note in too_long(self.message, values, len(phones), template_of):
            pick = self.picks[position]
            column, cell = ("", pick) if isinstance(pick, str) else (names[pick], batch.rows[at][pick])
            yield at, Reject(batch.lines[at], code, column, cell, note)

    def _refused_media(
        self, batch: RowBatch, columns: Sequence[Sequence[str]]
    ) -> Iterator[tuple[int, Reject]]:
        if self.media is None or not isinstance(self.picks[0], int):
            return
        column = dict(self.variable_columns)[self.picks[0]]
        for at, cell in enumerate(columns[self.picks[0]]):
            if (problem := self.media.problem(cell)) is not None:
                yield at, Reject(batch.lines[at], problem, column, batch.rows[at][self.picks[0]])

    def _reject(self, line: int, row: Row, code: str) -> Reject | None:
        if is_blank(row):
            return None
        if code == UNKNOWN and self.country is not None:
            index, column = self.country
            return Reject(line, cell_problem(row[index]) or code, column, row[index])
        cell = row[self.phone_index]
        return Reject(line, cell_problem(cell) or code, self.phone_column, cell)

    def batches(self, table: AudienceTable) -> Iterator[CheckedBatch]:
        """Check all rows of an audience."""
        return map(self.check, table.batches())


def row_check(header: Sequence[str], where: str, rules: RowRules) -> RowCheck:
    """Return the check of one audience.

    Raise MissingColumn for a missing column. Raise UsageError for a wrong region, and for a text of an option
    that the service would refuse.
    """
    _check_texts(rules)
    if any(len(cells) != len(header) for cells in rules.corrections.values()):
        raise UsageError("a corrected row needs one cell for each column", remedy="correct it again")
    for name in rules.mapped.values():
        column_index(header, name, where=where)

    def index_of(name: str, otherwise: str = "") -> int:
        wanted = rules.mapped.get(name, name)
        if is_export(header) and safe_cell(wanted) in header:
            wanted = safe_cell(wanted)
        return column_index(header, wanted, where=where, otherwise=otherwise)

    picks = tuple(param[1:] if is_literal(param) else index_of(param) for param in rules.params)
    columns = [pick for pick in dict.fromkeys(picks) if isinstance(pick, int)]
    try:
        phone_index = 0 if rules.is_stored else index_of(rules.phone_column, _NAME_THE_PHONES)
    except MissingColumn as missing:
        what, remedy = missing.forms
        raise MissingPhones(what, where=missing.where, remedy=remedy, values=missing.values) from missing
    defaults = tuple((index_of(column), text) for column, text in rules.defaults.items())
    if phone_index in dict(defaults):
        raise UsageError("{default} cannot be for the phones", remedy="name another column", values={})
    chooser = None if rules.choice is None else _chooser(rules.choice, index_of)
    at_language = None if chooser is None else chooser.language_index
    values = dict.fromkeys([*columns, *([] if at_language is None else [at_language])])
    country = _country_index(rules, index_of)
    if rules.message is not None:
        require_room(rules.message, [pick if isinstance(pick, str) else None for pick in picks])
    return RowCheck(
        phones=_phones(header, rules, phone_index, country),
        phone_index=phone_index,
        phone_column=rules.phone_column if rules.is_stored else header[phone_index],
        variable_columns=tuple((index, header[index]) for index in columns),
        value_columns=tuple((index, header[index]) for index in values),
        picks=picks,
        exported=tuple(
            index
            for index in columns
            if index != phone_index and (is_export(header) or is_variable_column(header[index]))
        ),
        defaults=defaults,
        media=None if rules.media is None else HeaderMediaCheck(rules.media),
        chooser=chooser,
        corrections=rules.corrections,
        country=None if country is None else (country, header[country]),
        values=_value_check(header, values, picks, rules),
        message=rules.message,
    )


def _country_index(rules: RowRules, index_of: Callable[[str], int]) -> int | None:
    return None if rules.country_column in (None, NO_COLUMN) else index_of(rules.country_column)


def _phones(
    header: Sequence[str], rules: RowRules, phone_index: int, country: int | None
) -> PhoneReader | StoredPhones:
    if rules.is_stored:
        return StoredPhones()
    hint = country_like(header) if rules.country_column is None else None
    if hint == phone_index:
        hint = None
    return PhoneReader(rules.phones, phone_index, header[phone_index], country, hint)


def require_known_countries(header: Sequence[str], rules: RowRules, plain: PlainDigits, where: str) -> None:
    """Raise ConfigurationError if the rows of a list need a country that only a person knows."""
    hint = country_like(header)
    require_countries(
        plain,
        region=rules.region,
        country_column=rules.country_column,
        hint=None if hint is None else header[hint],
        where=where,
    )


def _value_check(
    header: Sequence[str], indexes: Iterable[int], picks: Sequence[int | str], rules: RowRules
) -> ValueCheck:
    """Return the check of these columns. Stored values were checked before; they stay as they were sent."""
    message = rules.message
    beginnings = {} if message is None else {picks[at]: found for at, found in message.beginnings}
    codes = set() if message is None else {picks[at] for at in message.codes}
    media = None if rules.media is None else picks[0]

    def checked(index: int) -> CheckedColumn:
        if index not in picks or index == media:
            return CheckedColumn(index, header[index])
        doubts = doubts_about(
            header[index],
            repairs=rules.repairs,
            empties=rules.empties_words,
            beginnings=beginnings.get(index),
            is_code=index in codes,
        )
        return CheckedColumn(index, header[index], tuple(doubts))

    columns = () if rules.is_stored else tuple(map(checked, indexes))
    return ValueCheck(columns, keep_spaces=rules.keep_spaces)


def _chooser(choice: TemplateChoice, index_of: Callable[[str], int]) -> TemplateChooser:
    return TemplateChooser(choice, None if choice.column is None else index_of(choice.column))


def _check_texts(rules: RowRules) -> None:
    for literal in rules.literals:
        if (problem := check_variable(literal)) is not None:
            raise UsageError(
                "the fixed text {param} ={text!r} cannot be sent: {problem}",
                values={"text": literal, "problem": problem},
            )
    for column, text in rules.defaults.items():
        if (problem := check_variable(text)) is not None:
            raise UsageError(
                "the text of {default} {column}={text!r} cannot be sent: {problem}",
                values={"column": column, "text": text, "problem": problem},
            )


def _line_of(reject: Reject) -> int:
    return reject.line
