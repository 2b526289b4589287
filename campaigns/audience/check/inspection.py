"""A check of an audience file without a campaign. It reads every row and stores nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from drumbeat.campaigns.audience.check.bad_rows import BadRows
from drumbeat.campaigns.audience.check.columns import MissingColumn
from drumbeat.campaigns.audience.check.duplicate_counter import DuplicateCounter
from drumbeat.campaigns.audience.check.encoding_question import known_table
from drumbeat.campaigns.audience.check.glimpse import with_remedy
from drumbeat.campaigns.audience.check.reject_file import RejectFile, require_no_reject_list
from drumbeat.campaigns.audience.check.row_check import (
    FIRST_ROWS,
    FirstRow,
    require_known_countries,
    row_check,
)
from drumbeat.campaigns.audience.check.row_rules import PHONES_ONLY, RowRules
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.finding import Findings, ListFinding
from drumbeat.campaigns.options.sources import AS_IT_IS, ReadOptions
from drumbeat.campaigns.phones.phone_counts import PhoneCounts
from drumbeat.campaigns.phones.plain_digits import PlainDigits
from drumbeat.campaigns.progress import PlanProgress, ProgressCallback, no_progress
from drumbeat.engine.core.phone_aliases import canonical_phones


@dataclass(frozen=True, slots=True)
class Inspection:
    """The contents of a file. `good` rows can be sent to; `duplicates` of them repeat an earlier phone.

    `form` is what the file holds. A CSV file also has `encoding` and `delimiter`. `encoding_guessed` says
    that the file does not name its encoding. `findings` are as `Finding.as_json` gives them. `countries` and
    `kinds` count the phones of good rows, as `PhoneCounts` does. `first` are the first
    good rows.
    """

    columns: Sequence[str]
    form: str
    encoding: str | None
    encoding_guessed: bool
    delimiter: str | None
    rows: int
    good: int
    duplicates: int
    reject_codes: Mapping[str, int]
    rejects_path: Path | None
    findings: Sequence[ListFinding] = ()
    countries: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    first: Sequence[FirstRow] = ()

    @property
    def rejected(self) -> int:
        return self.rows - self.good

    @property
    def people(self) -> int:
        return self.good - self.duplicates

    def as_json(self) -> dict[str, Any]:
        """Return the values for documents: without the first rows, which hold phones."""
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "first"}
        path = None if self.rejects_path is None else str(self.rejects_path)
        return {**found, "rejects_path": path, "people": self.people}


def inspect_audience(
    path: Path,
    *,
    rejects_path: Path,
    rules: RowRules = PHONES_ONLY,
    options: ReadOptions = AS_IT_IS,
    progress: ProgressCallback = no_progress,
    bad_rows: BadRows | None = None,
) -> Inspection:
    """Check every row as `campaign create` does, in constant memory, with the same errors. `bad_rows` gets
    the rows that a person may correct.

    Raise ConfigurationError if the list needs a country, and if the temporary file for more than a million
    phones cannot be written.
    """
    with (
        open_table(path, options) as source,
        RejectFile(rejects_path, path) as rejects,
        DuplicateCounter() as phones,
    ):
        reader = source.table()
        require_no_reject_list(reader.header, reader.name)
        try:
            reader = known_table(source, reader, rules)
            check = row_check(reader.header, reader.name, rules)
        except MissingColumn as error:
            raise with_remedy(error, source) from error
        rows = good = 0
        first: list[FirstRow] = []
        findings, counts, plain = Findings(), PhoneCounts(), PlainDigits()
        findings.update(reader.findings.for_columns(check.read_columns(reader.header)))
        for read in map(check.corrected, reader.batches()):
            batch = check.check(read)
            rejects.add(batch.rejects)
            if bad_rows is not None:
                bad_rows.add(reader, read, batch.rejects)
            findings.update(batch.findings)
            counts.update(batch.counts)
            plain.update(batch.plain)
            first += batch.first_rows(FIRST_ROWS - len(first))
            phones.add(canonical_phones(batch.phones))
            rows, good = rows + batch.rows, good + len(batch.phones)
            progress(PlanProgress("reading", batch.read_bytes, reader.total_bytes, rows))
        source.require_unchanged()
        require_known_countries(reader.header, rules, plain, reader.name)
        return Inspection(
            columns=tuple(reader.header),
            form=reader.form,
            encoding=None if reader.encoding is None else reader.encoding.label,
            encoding_guessed=reader.encoding is not None and reader.encoding.is_guess,
            delimiter=None if reader.dialect is None else reader.dialect.delimiter,
            rows=rows,
            good=good,
            duplicates=phones.count(),
            reject_codes=dict(rejects.counts),
            rejects_path=rejects.publish(),
            findings=findings.as_json(),
            countries=counts.by_country(),
            kinds=counts.by_kind(),
            first=first,
        )
