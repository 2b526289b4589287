"""Looks at an audience file before a campaign is made of it: reads every row, stores nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaigns.audience.check import row_check
from campaigns.audience.reader import AudienceReader, open_audience
from campaigns.audience.rejects import RejectFile, require_no_list
from campaigns.audience.repeats import Repeats
from campaigns.audience.unchanged import Unchanged
from campaigns.planning.progress import PlanProgress, ProgressCallback, no_progress
from engine.core.phone_aliases import person


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a file holds: `good` rows could be sent to, but for `duplicates`, which repeat an earlier number.

    `encoding_guessed`: nothing in the file says in which encoding it is.
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
    """Check every row as `campaign create` does, in constant memory; raises what it raises for a file.

    ConfigurationError where a million phones and more find no room in the directory of temporary files.
    """
    with open_audience(path) as file, RejectFile(rejects_path, path) as rejects, Repeats() as repeats:
        unchanged = Unchanged(file, str(path))
        reader = AudienceReader(file, str(path))
        require_no_list(reader.header, str(path))
        check = row_check(reader.header, str(path), phone_column, params, region)
        rows = good = 0
        for batch in check.batches(reader):
            rejects.add(batch.rejects)
            repeats.add(map(person, batch.phones))
            rows, good = rows + batch.rows, good + len(batch.phones)
            progress(PlanProgress("reading", batch.read_bytes, reader.total_bytes, rows))
        unchanged.require()
        return Inspection(
            columns=tuple(reader.header),
            encoding=reader.encoding.label,
            encoding_guessed=reader.encoding.is_guess,
            delimiter=reader.delimiter,
            rows=rows,
            good=good,
            duplicates=repeats.count(),
            reject_codes=dict(rejects.counts),
            rejects_path=rejects.publish(),
        )
