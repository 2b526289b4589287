"""The rows that a person corrected. The file stays as it is; each corrected row stands in for the row with
its number.

A correction holds the whole row, because a row that could not be read has no cells of its own.
"""

import hashlib

import orjson

from drumbeat.campaigns.audience.open.reader import RowBatch
from drumbeat.campaigns.options.sources import Corrections


def corrected(batch: RowBatch, corrections: Corrections) -> RowBatch:
    """Return the batch with the corrected rows in place, in file order, without the reader's rejects."""
    rows = dict(zip(batch.lines, batch.rows, strict=True))
    there = rows.keys() | {reject.line for reject in batch.rejects}
    given = {line: list(cells) for line, cells in corrections.items() if line in there}
    if not given:
        return batch
    rows |= given
    lines = sorted(rows)
    rejects = [reject for reject in batch.rejects if reject.line not in given]
    return RowBatch(batch.read_bytes, lines, [rows[line] for line in lines], rejects)


def sha256_of(corrections: Corrections) -> str | None:
    """Return a hash that identifies the corrections, which may be many; None if there are none."""
    if not corrections:
        return None
    return hashlib.sha256(orjson.dumps(sorted(corrections.items()))).hexdigest()
