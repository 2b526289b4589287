"""`audience check`: what a plan would make of a file, without a database and without writing anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from campaigns.audience.check import row_check
from campaigns.audience.reader import AudienceReader, open_audience
from campaigns.audience.rejects import Reject

REJECTS_SHOWN = 10
# Phones remembered to find repeats: 100 MB. A longer audience is counted by the plan, in the database.
PHONES_REMEMBERED_MAX = 1_000_000


@dataclass(slots=True)
class AudienceReport:
    """What a file holds. `duplicates` None: more rows than are remembered here; the plan counts them."""

    path: Path
    encoding: str
    delimiter: str
    columns: list[str]
    rows: int = 0
    good: int = 0
    duplicates: int | None = 0
    reject_codes: Counter[str] = field(default_factory=Counter)
    first_rejects: list[Reject] = field(default_factory=list)

    @property
    def rejected(self) -> int:
        return self.reject_codes.total()


def check_audience(
    path: Path,
    *,
    phone_column: str = "phone",
    params: Sequence[str] = (),
    region: str | None = None,
    progress: Callable[[int, int], None] = lambda _read_bytes, _total_bytes: None,
) -> AudienceReport:
    """Read a whole audience as a plan would. Raises what a plan would raise for a file it cannot read."""
    phones: set[int] = set()
    with open_audience(path) as file:
        reader = AudienceReader(file, str(path))
        check = row_check(reader.header, str(path), phone_column, params, region)
        report = AudienceReport(path, reader.encoding.label, reader.delimiter, reader.header)
        for batch in check.batches(reader):
            report.rows += batch.rows
            report.good += len(batch.phones)
            report.reject_codes.update(reject.code for reject in batch.rejects)
            report.first_rejects += batch.rejects[: REJECTS_SHOWN - len(report.first_rejects)]
            if len(phones) <= PHONES_REMEMBERED_MAX:
                phones.update(batch.phones)
                report.duplicates = report.good - len(phones)
            else:
                report.duplicates = None
            progress(batch.read_bytes, reader.total_bytes)
    return report
