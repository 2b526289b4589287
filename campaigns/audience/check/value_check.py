"""The check of the values that messages take: they are cleaned, and what looks broken in them is noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from drumbeat.campaigns.audience.check.cleaning import Seen, clean, column_of
from drumbeat.campaigns.audience.check.doubtful import Doubt, find_doubtful
from drumbeat.campaigns.audience.open.reader import RowBatch
from drumbeat.campaigns.finding import Findings


@dataclass(frozen=True, slots=True)
class CheckedColumn:
    """A column that is cleaned, by index and name, and what may be wrong with its values."""

    index: int
    name: str
    doubts: tuple[Doubt, ...] = ()


class Cleaned(NamedTuple):
    """What was seen in a batch, with the names of the columns, and the text of each column by index."""

    seen: list[tuple[str, Seen]]
    texts: dict[int, str]


@dataclass(frozen=True, slots=True)
class ValueCheck:
    """A check of whole columns."""

    columns: tuple[CheckedColumn, ...]
    keep_spaces: bool

    def clean(self, columns: list[Sequence[str]]) -> Cleaned:
        """Clean these columns of a batch in place, by index."""
        seen: list[tuple[str, Seen]] = []
        texts: dict[int, str] = {}
        for checked in self.columns:
            column, cleaned = clean(column_of(columns[checked.index]), keep_spaces=self.keep_spaces)
            column, doubtful = find_doubtful(column, checked.doubts)
            columns[checked.index], texts[checked.index] = column
            seen += [(checked.name, each) for each in (*cleaned, *doubtful)]
        return Cleaned(seen, texts)


def findings_of(seen: Sequence[tuple[str, Seen]], batch: RowBatch, kept: Sequence[int]) -> Findings:
    """Return what was seen in rows that are good: those whose member of `kept` is not 0."""
    findings = Findings()
    for column, (code, at, cells) in seen:
        good = [(index, cell) for index, cell in zip(at, cells, strict=True) if kept[index]]
        if good:
            findings.add(code, column, [batch.lines[index] for index, _ in good], good[0][1])
    return findings
