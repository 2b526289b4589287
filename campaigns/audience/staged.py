"""A piece of an audience file made ready for the staging table: read, checked, written as COPY takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.audience.check import CheckedBatch, RowCheck, row_check
from campaigns.audience.reader import Piece, read_plain
from campaigns.audience.rejects import Reject


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """What a worker needs to check pieces of one file; the arguments of `row_check`, and the delimiter."""

    header: Sequence[str]
    where: str
    phone_column: str
    params: Sequence[str]
    region: str | None
    delimiter: str

    def row_check(self) -> RowCheck:
        return row_check(self.header, self.where, self.phone_column, self.params, self.region)


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """What became of a piece; `text`: its `rows` accepted ones, the last of them of `last_line`."""

    read_bytes: int
    rows: int
    last_line: int
    text: bytes
    rejects: list[Reject]


class PieceCheck:
    """Checks the pieces of one file that can be read by themselves."""

    def __init__(self, spec: CheckSpec) -> None:
        self._delimiter = spec.delimiter
        self._width = len(spec.header)
        self.rows = spec.row_check()

    def __call__(self, piece: Piece) -> StagedBatch | None:
        """None: its rows depend on the piece before it, or on the one after."""
        batch = read_plain(piece, self._delimiter, self._width)
        return None if batch is None else staged_batch(self.rows.check(batch))


def staged_batch(batch: CheckedBatch) -> StagedBatch:
    last_line = batch.accepted[-1][0] if batch.accepted else 0
    return StagedBatch(batch.read_bytes, len(batch.accepted), last_line, _copy_text(batch), batch.rejects)


def _copy_text(batch: CheckedBatch) -> bytes:
    """Rows of COPY's text format; variables joined by tabs inside their column.

    Checked variables hold no tab, line break or NUL: NUL stands for the tab while backslashes are escaped.
    """
    rows = [f"{line}\t{phone}\t" + "\0".join(variables) for line, phone, variables in batch.accepted]
    rows.append("")
    return "\n".join(rows).replace("\\", "\\\\").replace("\0", "\\t").encode()
