"""Checks an audience file without a campaign: reads every row and stores nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaigns.audience.change_check import ChangeCheck
from campaigns.audience.duplicate_counter import DuplicateCounter
from campaigns.audience.reader import AudienceReader, open_audience
from campaigns.audience.reject_file import RejectFile, require_no_reject_list
from campaigns.audience.row_check import row_check
from campaigns.planning.plan import PlanProgress, ProgressCallback, no_progress
from engine.core.phone_aliases import canonical_phone


@dataclass(frozen=True, slots=True)
class Inspection:
    """The contents of a file. `good` rows can be sent to; `duplicates` of them repeat an earlier phone.

    `encoding_guessed`: the file does not name its encoding.
    """

    columns: Sequence[str]
    encoding: str
    encoding_guessed: bool
    delimiter: str
    rows: int
    good: int
    duplicates: int
    reject_codes: Mapping[str, int]
    rejects_path: Path | None

    @property
    def rejected(self) -> int:
        return self.rows - self.good


def inspect_audience(
    path: Path,
    *,
    rejects_path: Path,
    phone_column: str = "phone",
    params: Sequence[str] = (),
    region: str | None = None,
    progress: ProgressCallback = no_progress,
) -> Inspection:
    """Check every row as `campaign create` does, in constant memory, with the same errors.

    ConfigurationError if the temporary file for more than a million phones cannot be written.
    """
    with (
        open_audience(path) as file,
        RejectFile(rejects_path, path) as rejects,
        DuplicateCounter() as phones,
    ):
        change_check = ChangeCheck(file, str(path))
        reader = AudienceReader(file, str(path))
        require_no_reject_list(reader.header, str(path))
        check = row_check(reader.header, str(path), phone_column, params, region)
        rows = good = 0
        for batch in check.batches(reader):
            rejects.add(batch.rejects)
            phones.add(map(canonical_phone, batch.phones))
            rows, good = rows + batch.rows, good + len(batch.phones)
            progress(PlanProgress("reading", batch.read_bytes, reader.total_bytes, rows))
        change_check.require_unchanged()
        return Inspection(
            columns=tuple(reader.header),
            encoding=reader.encoding.label,
            encoding_guessed=reader.encoding.is_guess,
            delimiter=reader.delimiter,
            rows=rows,
            good=good,
            duplicates=phones.count(),
            reject_codes=dict(rejects.counts),
            rejects_path=rejects.publish(),
        )
