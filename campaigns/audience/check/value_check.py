"""The check of the values that messages take: they are cleaned, and what looks broken in them is noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from drumbeat.campaigns.audience.check.cleaning import Seen, clean
from drumbeat.campaigns.audience.check.doubtful import Doubt, find_doubtful
from drumbeat.campaigns.audience.open.reader import RowBatch
from drumbeat.campaigns.finding import Findings


@dataclass(frozen=True, slots=True)
class CheckedColumn:
    """A column that is cleaned, by index and name, and what may be wrong with its values."""

    index: int
    name: str
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueCheck:
    """A check of whole columns."""

    columns: tuple[CheckedColumn, ...]
    keep_spaces: bool

    def clean(self, columns: list[Sequence[str]]) -> list[tuple[str, Seen]]:
        """Clean these columns of a batch in place, by index. Return what was seen, with the column's name."""
        seen: list[tuple[str, Seen]] = []
        for column in self.columns:
            cells, cleaned = clean(columns[column.index], keep_spaces=self.keep_spaces)
            cells, doubtful = find_doubtful(cells, column.doubts)
            columns[column.index] = cells
            seen += [(column.name, each) for each in (*cleaned, *doubtful)]
        return seen


def findings_of(seen: Sequence[tuple[str, Seen]], batch: RowBatch, kept: Sequence[int]) -> Findings:
    """Return what was seen in rows that are good: those whose member of `kept` is not 0."""
    findings = Findings()
    for column, (code, at, cells) in seen:
        good = [(index, cell) for index, cell in zip(at, cells, strict=True) if kept[index]]
        if good:
            findings.add(code, column, [batch.lines[index] for index, _ in good], good[0][1])
    return findings
